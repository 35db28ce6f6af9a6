// Which tasks are meant by what is done next: those that are selected, else the one under the cursor, else the open one. A selection belongs to the
// tasks it was made on, the cursor to its list, and both are drawn for as long as they count.

import { button, here, whenDrawn } from "./parts.js";

const ITEMS = "#view .card, #view .group-head, #view tr[data-task], #picture a[data-task]";
const BULK = [
  ["start", "Start"], ["done", "Done"], ["reopen", "Reopen"], ["assign", "Owner"], ["set-priority", "Priority"], ["set-tags", "Tags"], ["set-due", "Due"], ["blocked-by", "Blocked by"],
  ["delete", "Delete"], ["menu", "More"], ["select-every", ""], ["select-none", "None"],
];

let selection = { of: "", ids: new Set() };
/** The list, the task, and where it stood: in which list of cards or rows, and how far down. */
let cursor = null;

/** Returns the selected tasks of what is shown; another list, view or query begins with none. */
function selected() {
  const { list, view } = here();
  const query = new URLSearchParams(location.search);
  const of = JSON.stringify([list, view, query.get("q"), query.get("needs")]);
  if (selection.of !== of) selection = { of, ids: new Set() };
  return selection.ids;
}

/** Returns the tasks that are meant by what is done next; by a button beside an open task, that task; by a menu, those it was opened for. */
export function targets(source) {
  if (source?.ids) return source.ids;
  const pane = source?.closest?.("#task");
  if (pane) return [pane.dataset.task];
  if (selected().size) return [...selected()];
  const id = current();
  return id ? [id] : [];
}

/** Returns the selected tasks if a task is one of them, else that task alone. */
export function selectedOr(id) {
  return selected().has(id) ? [...selected()] : [id];
}

/** Returns the task under the cursor, or the open one if the cursor is nowhere. */
export function current() {
  const focused = document.activeElement?.closest?.("[data-task]")?.dataset.task;
  if (focused) return focused;
  if (underCursor()) return cursor.id;
  const open = document.getElementById("task");
  return open.hidden ? null : open.dataset.task;
}

const itemOf = (id) => [...document.querySelectorAll(ITEMS)].find((item) => item.dataset.task === id);
// On the page of all lists there is no list, and no cursor either.
const isHere = () => cursor !== null && cursor.list === here().list;
const underCursor = () => (isHere() ? itemOf(cursor.id) : undefined);

function setCursor(id) {
  cursor = id ? { list: here().list, id } : null;
  draw();
}

document.addEventListener("focusin", ({ target }) => {
  const item = target.closest?.("[data-task]");
  // What has it already keeps its place, though a page that is drawn anew gives it the focus again.
  if (item && !(isHere() && cursor.id === item.dataset.task)) setCursor(item.dataset.task);
});
document.addEventListener("pointerdown", ({ target }) => {
  const item = target.closest?.("[data-task]");
  if (item) setCursor(item.dataset.task);
  // Empty ground: nothing is meant any more.
  else if (!target.closest?.("a, button, input, textarea, select, dialog, #selected, #said")) setCursor(null);
});

let pointed = [0, 0];
// What the mouse is moved over is under the cursor. A page that moves under a mouse that stands still changes nothing.
document.addEventListener("pointermove", ({ target, pointerType, clientX, clientY, buttons }) => {
  const isMoved = clientX !== pointed[0] || clientY !== pointed[1];
  pointed = [clientX, clientY];
  if (!isMoved || pointerType !== "mouse" || buttons || document.activeElement?.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const item = target.closest?.(ITEMS);
  if (!item || (isHere() && cursor.id === item.dataset.task)) return;
  document.activeElement?.blur();
  setCursor(item.dataset.task);
});

let stays = false;

/** Does something after which the cursor stays where it is, though the task under it goes elsewhere; with the open task it goes along. */
export async function stayInPlace(source, does) {
  stays = !source && isHere() && document.getElementById("task").dataset.task !== cursor.id;
  return does();
}

const foldedIn = () => `taskyard-folded ${here().list}`;
const folded = () => JSON.parse(sessionStorage.getItem(foldedIn()) ?? "[]");

/** Folds the parts of a task away, or shows them again. */
export function fold({ dataset: { parent } }) {
  const now = folded();
  sessionStorage.setItem(foldedIn(), JSON.stringify(now.includes(parent) ? now.filter((one) => one !== parent) : [...now, parent]));
  drawFolds();
}

function drawFolds() {
  const now = folded();
  for (const group of document.querySelectorAll("#view .group")) {
    const isFolded = now.includes(group.dataset.parent);
    group.classList.toggle("is-folded", isFolded);
    group.querySelector(".fold").setAttribute("aria-expanded", !isFolded);
  }
}
drawFolds();
whenDrawn(drawFolds);

/** Selects a task, or no longer. */
export function select(id, isSelected = !selected().has(id)) {
  if (isSelected) selected().add(id);
  else selected().delete(id);
  draw();
}

export function selectNone() {
  selected().clear();
  draw();
}

/** Selects these tasks, besides those that are selected. */
export function selectThese(ids) {
  ids.forEach((id) => selected().add(id));
  draw();
}

/** Selects all tasks that are shown, or none. */
export function selectAll(isSelected) {
  document.querySelectorAll("tr[data-task]").forEach(({ dataset: { task } }) => (isSelected ? selected().add(task) : selected().delete(task)));
  draw();
}

/** Draws the cursor, the selection, and what can be done with it. */
function draw() {
  const [ids, at] = [selected(), underCursor()];
  let shown = 0;
  for (const item of document.querySelectorAll(ITEMS)) {
    const isSelected = ids.has(item.dataset.task);
    shown += isSelected;
    item.classList.toggle("is-selected", isSelected);
    item.classList.toggle("is-cursor", item === at);
    const box = item.querySelector('input[data-act="select"]');
    if (box) box.checked = isSelected;
  }
  if (at) Object.assign(cursor, { among: at.parentElement.id, place: [...at.parentElement.children].indexOf(at) });
  const all = document.querySelector('input[data-act="select-all"]');
  if (all) all.checked = ids.size > 0;
  const bar = document.getElementById("selected");
  if (!ids.size) return bar?.remove();
  const shownBar = bar ?? makeBar();
  shownBar.firstChild.textContent = `${ids.size} selected${shown < ids.size ? `, ${ids.size - shown} not shown` : ""}`;
  // What is on further pages of the table is offered once all of this one is selected.
  const total = Number(document.querySelector("table.tasks")?.dataset.total ?? 0);
  const every = shownBar.querySelector('[data-act="select-every"]');
  every.hidden = total <= ids.size || shown < document.querySelectorAll("tr[data-task]").length;
  every.textContent = `All ${total}`;
}

function makeBar() {
  const bar = document.createElement("div");
  bar.id = "selected";
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "What to do with the selected tasks");
  bar.append(document.createElement("b"));
  for (const [act, words] of BULK) {
    const made = button(words, null);
    made.dataset.act = act;
    bar.append(made);
  }
  document.body.append(bar);
  return bar;
}

let opened = document.getElementById("task").dataset.key;
whenDrawn(() => {
  const { key, task } = document.getElementById("task").dataset;
  // Whatever opened a task, keys mean that one from then on.
  if (key !== opened && key) cursor = { list: here().list, id: task };
  opened = key;
  // The row of a task that is no longer shown keeps the cursor.
  const at = isHere() ? underCursor() : undefined;
  const went = stays && at && cursor.among && at.parentElement.id !== cursor.among;
  if (isHere() && (!at || went)) {
    const next = [...(document.getElementById(cursor.among)?.querySelectorAll(":scope > [data-task]") ?? [])].slice(0, cursor.place + 1).at(-1);
    if (next) cursor.id = next.dataset.task;
    if (next && (document.activeElement === document.body || at?.contains(document.activeElement))) next.querySelector(".open").focus({ preventScroll: true });
  }
  if (went) stays = false;
  draw();
});

const LINKS = "#view .card .open, #view .group-head .open, #view tr .open, #picture a[data-task], #view [data-item] a";
const holderOf = (link) => link?.closest?.(".card, .group-head, tr, [data-item], a[data-task]");

/** Moves the cursor: up and down among what stands below each other, left and right among columns, in the picture to what is near. */
export function moveCursor(way) {
  const items = [...document.querySelectorAll(LINKS)].filter((item) => item.getClientRects().length);
  const firsts = [...new Map(items.map((item) => [holderOf(item), item])).values()];
  if (!firsts.length) return;
  const under = holderOf(document.activeElement) ?? underCursor();
  const at = firsts.find((item) => holderOf(item) === under);
  if (!at) return focus(firsts[0]);
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
    const cards = [...all[place].querySelectorAll(".card .open")].filter((card) => card.getClientRects().length);
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
  item.closest(".card, .group-head, tr, [data-item]")?.scrollIntoView({ block: "nearest" });
}

/** Puts the cursor on a task, once it is shown. */
export function cursorTo(id) {
  setCursor(id);
  const item = itemOf(id);
  (item?.querySelector(".open") ?? item)?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest" });
}
