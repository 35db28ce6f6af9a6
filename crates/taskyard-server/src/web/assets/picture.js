// The picture of what waits for what: it moves and grows under the pointer, stays where it is when tasks change, and lights up what a
// task waits for and what waits for it.

import { here, whenDrawn } from "./parts.js";

const LARGEST = 2.5;
let view = null;
let shownFor = "";

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
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX, event.clientY);
  }, { passive: false });
  addEventListener("resize", () => picture() && fit());
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
  const address = `${here().list} ${new URLSearchParams(location.search).get("q") ?? ""}`;
  if (shownFor !== address || !view) fit();
  else apply();
  shownFor = address;
}

/** Shows all of it, or as much as can be read. */
export function fit() {
  const svg = picture();
  if (!svg?.whole) return;
  const { clientWidth: width, clientHeight: height } = svg.parentElement;
  const scale = Math.min(1.4, Math.max(0.55, Math.min(width / (svg.whole.width + 40), height / (svg.whole.height + 40))));
  const [w, h] = [width / scale, height / scale];
  const left = svg.whole.width + 40 < w ? (svg.whole.width - w) / 2 : -20;
  const top = svg.whole.height + 40 < h ? Math.max((svg.whole.height - h) / 2, -60) : -20;
  view = { x: left, y: top, scale };
  apply();
}

function apply() {
  const svg = picture();
  const { clientWidth: width, clientHeight: height } = svg.parentElement;
  svg.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
}

/** Makes it larger or smaller; what is under the pointer stays there. */
export function zoom(by, clientX, clientY) {
  const svg = picture();
  if (!svg) return;
  const box = svg.parentElement.getBoundingClientRect();
  const [x, y] = [(clientX ?? box.left + box.width / 2) - box.left, (clientY ?? box.top + box.height / 2) - box.top];
  const scale = Math.min(LARGEST, Math.max(0.1, view.scale * by));
  view = { x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale, scale };
  apply();
}

function grab(event) {
  const around = event.target.closest?.(".picture.moves");
  if (!around || event.button !== 0) return;
  let [x, y, far] = [event.clientX, event.clientY, 0];
  const move = (event) => {
    far += Math.abs(event.clientX - x) + Math.abs(event.clientY - y);
    view.x -= (event.clientX - x) / view.scale;
    view.y -= (event.clientY - y) / view.scale;
    [x, y] = [event.clientX, event.clientY];
    if (far > 4) around.classList.add("is-moved");
    apply();
  };
  const drop = () => {
    removeEventListener("pointermove", move);
    if (far > 4) addEventListener("click", (event) => (event.preventDefault(), event.stopPropagation()), { capture: true, once: true });
    setTimeout(() => around.classList.remove("is-moved"), 0);
  };
  event.target.closest("a")?.addEventListener("dragstart", (event) => event.preventDefault(), { once: true });
  addEventListener("pointermove", move);
  addEventListener("pointerup", drop, { once: true });
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
