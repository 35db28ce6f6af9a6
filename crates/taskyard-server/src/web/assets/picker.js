// Choosing: a small dialog beside what it is about. People type, and choose one of some things, or several, or a day.

import { ranked } from "./matching.js";
import { button, here, whenDrawn } from "./parts.js";

const picker = document.getElementById("picker");
const text = document.getElementById("picker-text");
const list = document.getElementById("picker-list");
const days = document.getElementById("picker-days");
const MARGIN = 8;
const DAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];
let asked = null;
let looked = 0;

/**
 * Lets people choose. `options` are the things, or a function that returns those that typed words mean; `other` makes one of the words themselves.
 * `does` is given the value and the thing; with `several` the dialog stays open and the things are drawn anew after each. `days` shows a calendar.
 */
export function pick({ heading, anchor, options, other, several = false, days: hasDays = false, hint = "", does }) {
  asked = { list: here().list, options, other, several, does };
  document.getElementById("picker-title").textContent = heading;
  text.value = "";
  text.placeholder = hint || "Type to choose";
  days.hidden = !hasDays;
  if (hasDays) showMonth(new Date());
  if (!picker.open) picker.showModal();
  text.focus();
  return look().then(() => place(anchor));
}

/** Puts the dialog below what it is about; on a phone the stylesheet does. */
function place(anchor) {
  if (matchMedia("(max-width: 760px)").matches) return picker.removeAttribute("style");
  const box = anchor?.getBoundingClientRect?.() ?? anchor;
  const { offsetWidth: width, offsetHeight: height } = picker;
  const [left, top] = box?.width || box?.left ? [box.left, box.bottom + 4] : [(innerWidth - width) / 2, innerHeight * 0.15];
  picker.style.left = `${Math.max(MARGIN, Math.min(left, innerWidth - width - MARGIN))}px`;
  // Above it, if there is no room below.
  picker.style.top = `${top + height + MARGIN <= innerHeight ? top : Math.max(MARGIN, (box?.top ?? top) - height - 4 > 0 && box ? Math.min(box.top - height - 4, innerHeight - height - MARGIN) : innerHeight - height - MARGIN)}px`;
}

const textOf = (item) => `${item.text} ${item.also ?? ""}`;

async function look() {
  const now = ++looked;
  const words = text.value.trim();
  const { options, other } = asked;
  const found = typeof options === "function" ? await options(words) : ranked(words, options, textOf);
  if (now !== looked) return;
  const own = words && other?.(words);
  const items = own && !found.some((item) => item.text === own.text) ? [...found, own] : found;
  list.replaceChildren(...items.map((item, at) => shown(item, at === 0)));
  if (!items.length) list.append(Object.assign(option("Nothing is like that", {}, false), { ariaDisabled: "true", className: "dim" }));
  point();
}

function shown(item, isSelected) {
  const made = option(item.text, {}, isSelected);
  made.item = item;
  if (item.mark) made.prepend(Object.assign(document.createElement("span"), { className: `mark ${item.tone ?? ""}`, textContent: item.mark, ariaHidden: "true" }));
  if (item.hint) made.append(Object.assign(document.createElement("span"), { className: "dim", textContent: item.hint }));
  if (item.isSet) made.append(Object.assign(document.createElement("span"), { className: "set-mark", textContent: "✓", ariaLabel: "chosen", role: "img" }));
  if (item.key) made.append(Object.assign(document.createElement("kbd"), { textContent: item.key, ariaHidden: "true" }));
  return made;
}

async function choose(one) {
  if (one.item === undefined) return;
  if (!asked.several) picker.close();
  await asked.does(one.item.value, one.item);
  if (!asked.several || !picker.open) return;
  text.value = "";
  const at = [...list.children].indexOf(one);
  await look();
  select(list.children[at] ?? list.firstChild);
}

/** Tells programs that read aloud which thing is meant. */
function point() {
  const at = [...list.children].findIndex((one) => one.getAttribute("aria-selected") === "true");
  [...list.children].forEach((one, number) => (one.id = `picker-${number}`));
  if (at >= 0) text.setAttribute("aria-activedescendant", `picker-${at}`);
  else text.removeAttribute("aria-activedescendant");
}

const select = walk(text, list, choose);
text.addEventListener("input", look);
text.addEventListener("keydown", point);
picker.addEventListener("click", (event) => {
  const box = picker.getBoundingClientRect();
  const isInside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (event.target === picker && !isInside) picker.close();
});
picker.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation());
document.getElementById("picker-close").addEventListener("click", () => picker.close());
whenDrawn(() => picker.open && asked.list !== here().list && picker.close());

/** Returns a thing that can be chosen. */
export function option(words, data, isSelected) {
  const item = document.createElement("li");
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", isSelected);
  Object.assign(item.dataset, data);
  const said = document.createElement("span");
  said.className = "said";
  said.textContent = words;
  item.append(said);
  return item;
}

/** Lets arrows walk through the options of a list while somebody types. */
export function walk(input, options, chosen) {
  const all = () => [...options.children].filter((one) => !one.hidden && one.getAttribute("role") === "option");
  const mark = (one) => {
    for (const other of options.children) if (other.getAttribute("role") === "option") other.setAttribute("aria-selected", other === one);
    one?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("keydown", (event) => {
    const ones = all();
    const at = ones.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown") mark(ones[Math.min(at + 1, ones.length - 1)]);
    else if (event.key === "ArrowUp") mark(ones[Math.max(at - 1, 0)]);
    else if (event.key === "Enter" && ones[at]) chosen(ones[at]);
    else return;
    event.preventDefault();
  });
  options.addEventListener("click", (event) => {
    const one = event.target.closest('[role="option"]');
    if (one) chosen(one);
  });
  return mark;
}

const twoDigits = (number) => String(number).padStart(2, "0");
const dayOf = (date) => `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;

/** Shows a month whose days can be chosen. */
function showMonth(of) {
  const [year, month, today] = [of.getFullYear(), of.getMonth(), dayOf(new Date())];
  const head = document.createElement("div");
  head.className = "head";
  const step = (words, sign, months) => Object.assign(button(sign, () => showMonth(new Date(year, month + months, 1))), { ariaLabel: words });
  const name = of.toLocaleDateString("en", { month: "long", year: "numeric" });
  head.append(step("Earlier", "‹", -1), Object.assign(document.createElement("b"), { textContent: name }), step("Later", "›", 1));
  const grid = document.createElement("div");
  grid.className = "days";
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", name);
  for (const day of DAYS) grid.append(Object.assign(document.createElement("span"), { textContent: day, className: "dim", ariaHidden: "true" }));
  const first = (new Date(year, month, 1).getDay() + 6) % 7;
  for (let at = 0; at < first; at++) grid.append(document.createElement("span"));
  for (let day = 1; day <= new Date(year, month + 1, 0).getDate(); day++) {
    const value = dayOf(new Date(year, month, day));
    const made = button(String(day), () => {
      picker.close();
      asked.does(value, { value, text: value });
    });
    made.dataset.day = value;
    made.ariaLabel = `${day} ${name}`;
    if (value === today) made.setAttribute("aria-current", "date");
    grid.append(made);
  }
  days.replaceChildren(head, grid);
}

days.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
  const all = [...days.querySelectorAll("[data-day]")];
  const next = step && all[all.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});
