// The picture of what waits for what: it moves and grows under the pointer, stays where it is when tasks change, and lights up what a
// task waits for and what waits for it.

import { here, whenDrawn } from "./parts.js";

const LARGEST = 2.5;
const SMALLEST = 0.42;
/** From which size on titles can be read. */
const READABLE = 1;
const MARGIN = 16;
let view = null;
let shownFor = "";
let openTask = null;

/** Makes the picture move, where there is one. */
export function setUpPicture() {
  whenDrawn(draw);
  draw();
  document.addEventListener("pointerover", light);
  document.addEventListener("focusin", light);
  document.addEventListener("pointerdown", grab);
  document.addEventListener("wheel", (event) => {
    if (!event.target.closest?.(".picture.moves")) return;
    event.preventDefault();
    // A pinch on a touchpad is a wheel with Ctrl.
    if (event.ctrlKey || event.metaKey) return zoom(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    view.x += (event.shiftKey ? event.deltaY : event.deltaX) / view.scale;
    view.y += (event.shiftKey ? 0 : event.deltaY) / view.scale;
    apply();
  }, { passive: false });
  document.addEventListener("focusin", ({ target }) => target.closest?.("#picture a[data-task]") && keepInView(target.closest("a")));
  addEventListener("resize", () => picture() && begin());
}

const picture = () => document.querySelector("#picture > svg");

function draw() {
  const svg = picture();
  if (!svg) return void (shownFor = "");
  const around = svg.parentElement;
  const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")].map(Number);
  if (width) {
    // The server says how large the whole is; from here on the size of what is shown is ours.
    svg.whole = { width, height };
    svg.dataset.holds = "viewBox width height";
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    around.classList.add("moves");
  }
  const query = new URLSearchParams(location.search);
  const address = `${here().list} ${["q", "focus", "done"].map((name) => query.get(name) ?? "").join(" ")}`;
  if (shownFor !== address || !view) begin();
  else apply();
  shownFor = address;
  if (query.get("task") !== openTask) keepInView(svg.querySelector(`a[data-task="${CSS.escape(query.get("task") ?? "")}"]`));
  openTask = query.get("task");
}

/** Shows all of it if it can be read then, else its beginning in full size. */
function begin() {
  fit();
  if (!view || view.scale >= READABLE) return;
  view = { x: -MARGIN, y: -MARGIN, scale: 1 };
  apply();
  const open = picture().querySelector("a.is-open");
  if (open) keepInView(open);
}

/** Moves the picture until a task is in view. */
function keepInView(item) {
  const around = picture()?.parentElement;
  if (!item || !around?.classList.contains("moves")) return;
  const [box, frame] = [item.querySelector(".card").getBoundingClientRect(), around.getBoundingClientRect()];
  const over = (from, to, low, high) => (from < low + MARGIN ? from - low - MARGIN : to > high - MARGIN ? Math.min(to - high + MARGIN, from - low - MARGIN) : 0);
  view.x += over(box.left, box.right, frame.left, frame.right) / view.scale;
  view.y += over(box.top, box.bottom, frame.top, frame.bottom) / view.scale;
  apply();
}

/** Shows all of it. */
export function fit() {
  const svg = picture();
  if (!svg?.whole) return;
  const { clientWidth: width, clientHeight: height } = svg.parentElement;
  const scale = Math.min(1.2, Math.max(SMALLEST, Math.min(width / (svg.whole.width + 2 * MARGIN), height / (svg.whole.height + 2 * MARGIN))));
  const [w, h] = [width / scale, height / scale];
  const left = svg.whole.width < w ? (svg.whole.width - w) / 2 : -MARGIN;
  const top = svg.whole.height < h ? Math.max((svg.whole.height - h) / 2, -60) : -MARGIN;
  view = { x: left, y: top, scale };
  apply();
}

function apply() {
  const svg = picture();
  const { clientWidth: width, clientHeight: height } = svg.parentElement;
  // Letters never have less than 12 pixels: from afar there is room for the numbers alone.
  svg.classList.toggle("is-far", view.scale < READABLE);
  svg.style.setProperty("--far", `${Math.min(30, 12.5 / view.scale)}px`);
  svg.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
}

/** Makes it larger or smaller; what is under the pointer stays there. */
export function zoom(by, clientX, clientY) {
  const svg = picture();
  if (!svg) return;
  const box = svg.parentElement.getBoundingClientRect();
  const [x, y] = [(clientX ?? box.left + box.width / 2) - box.left, (clientY ?? box.top + box.height / 2) - box.top];
  const scale = Math.min(LARGEST, Math.max(SMALLEST, view.scale * by));
  view = { x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale, scale };
  apply();
}

const fingers = new Map();
const ENDS = ["pointerup", "pointercancel"];

function grab(event) {
  const around = event.target.closest?.(".picture.moves");
  if (!around || event.button !== 0) return;
  fingers.set(event.pointerId, event);
  let [x, y, far] = [event.clientX, event.clientY, 0];
  // Each finger moves the picture by itself, and no other one's way counts twice.
  const isOther = ({ pointerId }) => pointerId !== event.pointerId;
  const move = (now) => {
    if (isOther(now)) return;
    const [dx, dy] = [now.clientX - x, now.clientY - y];
    [x, y] = [now.clientX, now.clientY];
    far += Math.abs(dx) + Math.abs(dy);
    if (fingers.size > 1) return pinch(now);
    view.x -= dx / view.scale;
    view.y -= dy / view.scale;
    if (far > 4) around.classList.add("is-moved");
    apply();
  };
  const drop = (now) => {
    if (isOther(now)) return;
    fingers.delete(event.pointerId);
    removeEventListener("pointermove", move);
    for (const end of ENDS) removeEventListener(end, drop);
    // The click that may follow a move opens nothing; after that of a finger none follows.
    if (far > 4) addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => (removeEventListener("click", swallow, { capture: true }), around.classList.remove("is-moved")), 0);
  };
  event.target.closest("a")?.addEventListener("dragstart", (event) => event.preventDefault(), { once: true });
  addEventListener("pointermove", move);
  for (const end of ENDS) addEventListener(end, drop);
}

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}

/** Makes it larger or smaller as two fingers go apart or come together. */
function pinch(event) {
  const [, other] = [...fingers].find(([id]) => id !== event.pointerId);
  const before = fingers.get(event.pointerId);
  const far = (one) => Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
  zoom(far(event) / far(before), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
  fingers.set(event.pointerId, event);
}

/** Lights up everything that leads to a task and everything behind it. */
function light(event) {
  const svg = picture();
  if (!svg) return;
  const id = event.target.closest?.("#picture a[data-task]")?.dataset.task;
  svg.classList.toggle("lights", Boolean(id));
  const edges = [...svg.querySelectorAll(".edge")];
  const reach = (from, to) => {
    const found = new Set([id]);
    const next = new Map();
    for (const edge of edges) next.set(edge.dataset[from], [...(next.get(edge.dataset[from]) ?? []), edge.dataset[to]]);
    const left = [id];
    while (left.length) for (const other of next.get(left.pop()) ?? []) if (!found.has(other)) found.add(other), left.push(other);
    return found;
  };
  if (!id) return svg.querySelectorAll(".lit").forEach((lit) => lit.classList.remove("lit"));
  const [behind, before] = [reach("from", "to"), reach("to", "from")];
  for (const task of svg.querySelectorAll(".task")) task.classList.toggle("lit", behind.has(task.dataset.id) || before.has(task.dataset.id));
  for (const edge of edges) {
    const { from, to } = edge.dataset;
    edge.classList.toggle("lit", (behind.has(from) && behind.has(to)) || (before.has(from) && before.has(to)));
  }
}
