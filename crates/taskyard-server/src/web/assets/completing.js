// The filter: what may come next is offered below it, and filters that are worth keeping stand beside the lists.

import { ask } from "./asking.js";
import { button, here, whenDrawn } from "./parts.js";
import { option } from "./picker.js";
import { base } from "./server.js";

const MOST = 10;
const KEYS = {
  "status:": ["pending", "in_progress", "completed"], "owner:": "people", "tag:": "tags", "priority:": ["high", "medium", "low"], "kind:": ["bug", "mission", "phase", "experiment", "detour"], "due:": ["today", "tomorrow"],
  "no:": ["owner", "due", "tag", "priority"], "has:": ["note"], "parent:": [], "older:": ["2d", "1w"], "changed:": ["1h", "1d"],
};
const WORDS = { ready: "can start now", blocked: "is blocked", overdue: "its due date has passed", "status:open": "is not done" };
const EXPLAINED = { "status:": "a state", "owner:": "who has it", "tag:": "a tag", "priority:": "how urgent", "kind:": "a kind", "due:": "when it has to be done", "no:": "has none", "has:": "has one", "parent:": "a part of", "older:": "made longer ago", "changed:": "changed within" };
const valuesOf = (from) => (typeof from === "string" ? [...document.querySelectorAll(`#${from} option`)].map(({ value }) => value) : from);
const quoted = (value) => (/[\s"():]/.test(value) ? `"${value}"` : value);

const field = () => document.getElementById("query");
const shown = () => document.getElementById("query-list");

/** Returns the word in which the caret stands, and where it begins. */
function wordAt(input) {
  const before = input.value.slice(0, input.selectionStart);
  const start = Math.max(before.lastIndexOf(" "), before.lastIndexOf("(")) + 1;
  return { start, word: before.slice(start) };
}

function candidates(word) {
  const bare = word.replace(/^[-!]/, "");
  const key = Object.keys(KEYS).find((one) => bare.startsWith(one));
  if (key) return valuesOf(KEYS[key]).filter((value) => value.toLowerCase().startsWith(bare.slice(key.length).toLowerCase())).map((value) => ({ text: key + quoted(value) }));
  const keys = Object.keys(KEYS).map((text) => ({ text, hint: EXPLAINED[text], goesOn: true }));
  return [...Object.entries(WORDS).map(([text, hint]) => ({ text, hint })), ...keys].filter(({ text }) => text.startsWith(bare.toLowerCase()));
}

function offer() {
  const input = field();
  if (!input || document.activeElement !== input) return hide();
  const { word } = wordAt(input);
  const found = candidates(word).filter(({ text }) => text !== word).slice(0, MOST);
  if (!found.length) return hide();
  let list = shown();
  if (!list) {
    list = document.createElement("ul");
    Object.assign(list, { id: "query-list", className: "found" });
    list.dataset.keep = "";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "What may come next");
    // The field keeps the focus.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => event.target.closest("[role=option]") && take(event.target.closest("[role=option]")));
    input.after(list);
  }
  list.hidden = false;
  list.replaceChildren(...found.map((item) => {
    const made = option(item.text, {}, false);
    if (item.hint) made.append(Object.assign(document.createElement("span"), { className: "dim", textContent: item.hint }));
    return Object.assign(made, { item });
  }));
}

function hide() {
  if (shown()) shown().hidden = true;
}

function take({ item }) {
  const input = field();
  const { start, word } = wordAt(input);
  const sign = /^[-!]/.exec(word)?.[0] ?? "";
  input.setRangeText(sign + item.text + (item.goesOn ? "" : " "), start, input.selectionStart, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Offers what may come next while a filter is typed. */
export function setUpFilter() {
  document.addEventListener("input", ({ target }) => target.id === "query" && offer());
  document.addEventListener("focusin", ({ target }) => target.id === "query" && offer());
  document.addEventListener("focusout", ({ target }) => target.id === "query" && hide());
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "query" || !shown() || shown().hidden) return;
    const all = [...shown().children];
    const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    const select = (next) => all.forEach((one, place) => one.setAttribute("aria-selected", place === next));
    if (event.key === "ArrowDown") select(Math.min(at + 1, all.length - 1));
    else if (event.key === "ArrowUp") select(at - 1);
    else if ((event.key === "Enter" && at >= 0) || (event.key === "Tab" && at >= 0)) take(all[at]);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  drawSaved();
  whenDrawn(drawSaved);
}

const NAME = `taskyard-filters${base}`;
const saved = () => JSON.parse(localStorage.getItem(NAME) ?? "[]");
const keep = (filters) => {
  localStorage.setItem(NAME, JSON.stringify(filters));
  drawSaved();
};

/** Keeps what the address chooses under a name, in this browser. */
export function saveFilter() {
  const { list, view } = here();
  const query = new URLSearchParams(location.search);
  for (const name of ["task", "from"]) query.delete(name);
  if (!query.get("q")) return;
  ask("Save this filter", "Save", [{ name: "name", label: "Name", required: true, kind: "wide", value: query.get("q") }], async ({ name }) => {
    const path = location.pathname.slice(base.length);
    keep([...saved().filter((one) => one.list !== list || one.name !== name.trim()), { list, view, name: name.trim(), path: `${path}?${query}` }]);
  });
}

/** Draws the filters of this list beside the lists. */
function drawSaved() {
  const around = document.getElementById("lists");
  const filters = saved().filter(({ list }) => list === here().list);
  around.querySelector(".saved")?.remove();
  if (!filters.length) return;
  const made = document.createElement("ul");
  made.className = "saved";
  made.dataset.keep = "";
  made.setAttribute("aria-label", "Saved filters");
  for (const filter of filters) {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: base + filter.path, textContent: filter.name });
    if (location.pathname + location.search === base + filter.path) link.setAttribute("aria-current", "true");
    const gone = button("×", () => keep(saved().filter((one) => one.list !== filter.list || one.name !== filter.name)));
    gone.ariaLabel = `Forget the filter ${filter.name}`;
    item.append(link, gone);
    made.append(item);
  }
  around.querySelector("ul").before(made);
}
