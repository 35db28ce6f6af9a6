// Asking people for something: a dialog with a few fields, one task among many, or anything by its name.

import { Refusal } from "./acts.js";
import { askToDiscard, draftOf, keepDraft } from "./drafts.js";
import { tasksEverywhere, tasksLike } from "./looking.js";
import { ranked } from "./matching.js";
import { button, go, here, whenDrawn } from "./parts.js";
import { option, pick, walk } from "./picker.js";
import { base } from "./server.js";
import { shownSubject } from "./texts.js";

const dialog = document.getElementById("ask");
const form = document.getElementById("ask-form");
const fields = document.getElementById("ask-fields");
const refused = document.getElementById("ask-refused");
/** What is being asked: on which list, what to do with the answer, what the fields began with, and for what drafts of them are kept. */
let asked = {};
const DAYS = ["today", "tomorrow", "mon", "fri", "7d", "30d"].map((value) => ({ value, text: { "7d": "in a week", "30d": "in a month" }[value] ?? value }));

/**
 * Asks for some fields; `does` is given what was typed and may refuse, which is said in the dialog. What it returns is called afterwards. What was
 * typed stays until then; for a `target` it is there again if the dialog goes before.
 */
export function ask(title, goes, wanted, does, target) {
  document.getElementById("ask-title").textContent = title;
  document.getElementById("ask-go").textContent = goes;
  refused.textContent = "";
  fields.replaceChildren(...wanted.map(field));
  asked = { list: here().list, does, target, begun: typed() };
  for (const [name, value] of Object.entries((target && draftOf(target)) ?? {})) if (form.elements[name]) form.elements[name].value = value;
  dialog.showModal();
  fields.querySelector("input, textarea, select")?.focus();
}

const typed = () => Object.fromEntries(new FormData(form));

/** Returns the fields that are not as they began; null if all are. */
function touched() {
  const changed = Object.entries(typed()).filter(([name, value]) => value !== asked.begun[name]);
  return changed.length ? Object.fromEntries(changed) : null;
}

function close() {
  if (asked.target) keepDraft(asked.target, null);
  form.querySelector(".discard")?.remove();
  dialog.close();
}

const cancel = () => (touched() ? askToDiscard(form, document.activeElement, close) : close());
fields.addEventListener("input", () => asked.target && keepDraft(asked.target, touched()));
// Whoever left the list by the browser's own buttons does not mean the next one.
whenDrawn(() => dialog.open && asked.list !== here().list && dialog.close());

function field({ name, label, kind = "text", value = "", list, required = false, options, hint = "", text = "" }) {
  if (kind === "words") return Object.assign(document.createElement("p"), { className: "wide", textContent: text });
  const around = document.createElement("label");
  around.textContent = label;
  const tag = kind === "long" ? "textarea" : options ? "select" : "input";
  const input = document.createElement(tag);
  Object.assign(input, { name, required, placeholder: hint, dir: "auto" });
  if (tag === "textarea") input.rows = 4;
  for (const [word, words] of options ?? []) input.append(new Option(words, word));
  // A choice without a value begins with the first.
  if (value || !options) input.value = value;
  if (list) input.setAttribute("list", list);
  input.autocomplete = "off";
  around.append(input);
  if (["long", "wide"].includes(kind)) around.classList.add("wide");
  const chooses = { date: chooseDay, tags: chooseTags }[kind];
  if (!chooses) return around;
  // What belongs to the field is no part of its name.
  const both = document.createElement("div");
  both.className = "with-choice";
  const choice = Object.assign(button(kind === "date" ? "▾" : "+", () => chooses(input, label)), { ariaLabel: `Choose: ${label}` });
  both.append(around, choice);
  return both;
}

function write(input, text) {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

const chooseDay = (input, label) => pick({ heading: label, anchor: input, days: true, options: DAYS, other: (words) => ({ value: words, text: words, hint: "as typed" }), does: (day) => write(input, day) });

function chooseTags(input, label) {
  const chosen = () => input.value.split(/[\s,]+/).filter(Boolean);
  const known = [...document.querySelectorAll("#tags option")].map(({ value }) => value);
  const options = (words) => [...new Set([...chosen(), ...known])].filter((tag) => tag.toLowerCase().includes(words.toLowerCase())).map((tag) => ({ value: tag, text: tag, isSet: chosen().includes(tag) }));
  const does = (tag) => write(input, (chosen().includes(tag) ? chosen().filter((one) => one !== tag) : [...chosen(), tag]).join(", "));
  return pick({ heading: label, anchor: input, several: true, options, other: (words) => ({ value: words, text: words, hint: "new tag" }), does });
}

/**
 * Shows in the open dialog what somebody else wrote meanwhile: in fields that were not touched here at once, beside the others as a choice. Saving
 * again keeps what stands in the fields.
 */
export function showTheirs(before, now) {
  for (const input of fields.querySelectorAll("[name]")) {
    const { name } = input;
    input.parentElement.querySelector(".theirs")?.remove();
    if (now[name] === before[name] || now[name] === input.value) continue;
    if (input.value === before[name]) {
      input.value = now[name];
      continue;
    }
    const theirs = document.createElement("span");
    theirs.className = "theirs";
    const text = document.createElement("q");
    text.textContent = now[name];
    const take = document.createElement("button");
    take.type = "button";
    take.textContent = "Take theirs";
    take.onclick = () => {
      input.value = now[name];
      theirs.remove();
    };
    theirs.append("Theirs: ", text, " ", take);
    input.after(theirs);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const then = await asked.does(typed());
    // Closing gives the focus back to where it was; what comes next may put it elsewhere.
    close();
    then?.();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refused.textContent = `▲ ${error.message}${error.hint ? `: ${error.hint}` : ""}`;
  }
});
dialog.querySelector('[data-act="dismiss"]').addEventListener("click", cancel);
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  if (event.key !== "Escape") return;
  event.preventDefault();
  cancel();
});

/** Opens the palette: whatever there is, by what people type of it. `settings` returns the properties that the meant tasks may have. */
export function setUpPalette(perform, isPossible, settings) {
  const palette = document.getElementById("palette");
  const text = document.getElementById("palette-text");
  const list = document.getElementById("palette-list");
  const commands = [...list.children];
  let asked = 0;
  const choose = (one) => {
    palette.close();
    if (one.dataset.act) perform(one.dataset.act);
    else if (one.does) one.does();
    else if (one.dataset.task) go(withTask(one.dataset.task));
    else if (one.dataset.href) go(one.dataset.href);
  };
  const select = walk(text, list, choose);
  const textOf = (one) => `${one.textContent} ${one.dataset.also ?? ""}`;
  const draw = (words, found) => {
    const ones = words ? ranked(words, found, textOf).slice(0, MOST_FOUND) : found;
    list.replaceChildren(...ones);
    select(list.firstElementChild);
  };
  const filter = async () => {
    const words = text.value.trim();
    const possible = commands.filter(({ dataset: { act } }) => !act || isPossible(act));
    if (!words) return draw("", possible);
    const lists = [...document.querySelectorAll("#lists li a[data-list]")].map((link) => other(option(`List ${link.dataset.list}`, { href: link.getAttribute("href") })));
    const set = settings().map(({ text: said, does }) => Object.assign(other(option(said, {})), { does }));
    const now = ++asked;
    draw(words, [...possible, ...set, ...lists]);
    const found = await tasksFound(words);
    if (now !== asked) return;
    // What the server found may be like the words in other ways than the titles are.
    const known = [...possible, ...set, ...lists];
    const like = ranked(words, [...known, ...found], textOf);
    list.replaceChildren(...[...like.slice(0, MOST_FOUND), ...found.filter((one) => !like.includes(one))]);
    select(list.firstElementChild);
  };
  text.addEventListener("input", filter);
  return () => {
    if (palette.open) return palette.close();
    text.value = "";
    palette.showModal();
    filter();
    text.focus();
  };
}

const MOST_FOUND = 14;

/** Returns what can be chosen of the tasks that words mean: of this list by number, and of all lists by their words. */
async function tasksFound(words) {
  const ownList = here().list;
  if (/^#?\d+$/.test(words)) return ownList ? (await tasksLike(words, 1)).map((task) => other(option(`#${task.id}  ${shownSubject(task)}`, { task: task.id }))) : [];
  const found = await tasksEverywhere(words, 10);
  return found.map(({ task, list }) => {
    const data = list === ownList ? { task: task.id } : { href: `${base}/lists/${encodeURIComponent(list)}?task=${encodeURIComponent(task.id)}` };
    const made = other(option(`#${task.id}  ${shownSubject(task)}`, data));
    const where = [list === ownList ? "" : list, task.status === "completed" ? "done" : ""].filter(Boolean).join(", ");
    if (where) made.append(Object.assign(document.createElement("span"), { className: "dim", textContent: where }));
    return made;
  });
}

function other(item) {
  item.classList.add("other");
  return item;
}

/** Returns the address of a task beside what is shown. */
export function withTask(id) {
  const address = new URL(location.href);
  if (id) address.searchParams.set("task", id);
  else address.searchParams.delete("task");
  return address.pathname + address.search;
}
