// Which task is meant: the one under the cursor, which is where the focus is, or those that are selected.

import { whenDrawn } from "./parts.js";

const selected = new Set();
let last = null;

/** Returns the tasks that are meant by what is done next. */
export function targets() {
  if (selected.size) return [...selected];
  const id = current();
  return id ? [id] : [];
}

/** Returns the selected tasks where a task is one of them, else that task alone. */
export function selectedOr(id) {
  return selected.has(id) ? [...selected] : [id];
}

/** Returns the task under the cursor; the open one where the cursor is nowhere. */
export function current() {
  const focused = document.activeElement?.closest?.("[data-task]")?.dataset.task;
  if (focused) return focused;
  if (last && itemOf(last)) return last;
  const open = document.getElementById("task");
  return open.hidden ? null : open.dataset.task;
}

const itemOf = (id) => document.getElementById(`card-${id}`) ?? document.getElementById(`row-${id}`);

document.addEventListener("focusin", (event) => {
  const item = event.target.closest?.("[data-task]");
  if (item && item.id !== "task") last = item.dataset.task;
});

/** Selects a task, or no longer. */
export function select(id, isSelected = !selected.has(id)) {
  if (isSelected) selected.add(id);
  else selected.delete(id);
  show();
}

export function selectNone() {
  selected.clear();
  show();
}

/** Selects all tasks that are shown, or none. */
export function selectAll(isSelected) {
  document.querySelectorAll("tr[data-task]").forEach((row) => (isSelected ? selected.add(row.dataset.task) : selected.delete(row.dataset.task)));
  show();
}

function show() {
  for (const item of document.querySelectorAll(".card, tr[data-task]")) {
    const isSelected = selected.has(item.dataset.task);
    item.classList.toggle("is-selected", isSelected);
    const box = item.querySelector('input[data-act="select"]');
    if (box) box.checked = isSelected;
  }
  const all = document.querySelector('input[data-act="select-all"]');
  if (all) all.checked = selected.size > 0;
  let bar = document.getElementById("selected");
  if (!selected.size) return bar?.remove();
  if (!bar) {
    bar = document.createElement("div");
    bar.id = "selected";
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "What to do with the selected tasks");
    bar.append(document.createElement("b"));
    for (const [act, words] of [["start", "Start"], ["done", "Done"], ["assign", "Assign"], ["blocked-by", "Blocked by"], ["cancel", "Cancel"], ["delete", "Delete"], ["select-none", "None"]]) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: words });
      button.dataset.act = act;
      bar.append(button);
    }
    document.body.append(bar);
  }
  bar.firstChild.textContent = `${selected.size} selected`;
}

whenDrawn(() => selected.size && show());

/** Moves the cursor: up and down among what stands below each other, left and right among columns, in the picture to what is near. */
export function moveCursor(way) {
  const items = [...document.querySelectorAll("#view .card .open, #view tr .open, #picture a[data-task], #view [data-item] a")].filter((item) => item.getClientRects().length);
  const firsts = [...new Map(items.map((item) => [item.closest(".card, tr, [data-item], a[data-task]"), item])).values()];
  if (!firsts.length) return;
  const at = firsts.find((item) => item.closest(".card, tr, [data-item], a[data-task]") === document.activeElement?.closest?.(".card, tr, [data-item], a[data-task]")) ?? firsts.find((item) => item.closest("[data-task]")?.dataset.task === last);
  if (!at || !document.contains(at)) return focus(firsts[0]);
  const columns = at.closest(".columns");
  const picture = at.closest("#picture");
  if (picture) return focus(nearest(firsts, at, way) ?? at);
  if (way === "left" || way === "right") return columns && focus(beside(columns, at, way) ?? at);
  const among = columns ? firsts.filter((item) => item.closest(".column") === at.closest(".column")) : firsts;
  focus(among[among.indexOf(at) + (way === "down" ? 1 : -1)] ?? at);
}

function beside(columns, at, way) {
  const all = [...columns.children].sort((one, two) => one.getBoundingClientRect().left - two.getBoundingClientRect().left);
  const step = way === "right" ? 1 : -1;
  const top = at.getBoundingClientRect().top;
  for (let place = all.indexOf(at.closest(".column")) + step; all[place]; place += step) {
    const cards = [...all[place].querySelectorAll(".card .open")];
    const far = (card) => Math.abs(card.getBoundingClientRect().top - top);
    if (cards.length) return cards.reduce((one, two) => (far(two) < far(one) ? two : one));
  }
}

function nearest(items, at, way) {
  const middle = (item) => {
    const box = item.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = middle(at);
  const far = (item) => {
    const [dx, dy] = [middle(item)[0] - x, middle(item)[1] - y];
    const [along, across] = { left: [-dx, dy], right: [dx, dy], up: [-dy, dx], down: [dy, dx] }[way];
    return along > 8 ? along + 3 * Math.abs(across) : Infinity;
  };
  const best = items.reduce((one, two) => (far(two) < far(one) ? two : one));
  return far(best) < Infinity ? best : null;
}

function focus(item) {
  item.focus({ preventScroll: true });
  item.closest(".card, tr, [data-item]")?.scrollIntoView({ block: "nearest" });
}

/** Puts the cursor on a task, once it is shown. */
export function cursorTo(id) {
  last = id;
  itemOf(id)?.querySelector(".open")?.focus({ preventScroll: true });
  itemOf(id)?.scrollIntoView({ block: "nearest" });
}
