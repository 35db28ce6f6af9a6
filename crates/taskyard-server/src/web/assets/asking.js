// Asking people for something: a dialog with a few fields, one task among many, or anything by its name.

import { Refusal, call, ofList } from "./acts.js";
import { askToDiscard, draftOf, keepDraft } from "./drafts.js";
import { go, here, whenDrawn } from "./parts.js";
import { shownSubject } from "./texts.js";

const dialog = document.getElementById("ask");
const form = document.getElementById("ask-form");
const fields = document.getElementById("ask-fields");
const refused = document.getElementById("ask-refused");
/** What is being asked: on which list, what to do with the answer, what the fields began with, and for what drafts of them are kept. */
let asked = {};

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

function field({ name, label, kind = "text", value = "", list, required = false, options, hint = "" }) {
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
  if (kind === "task") around.append(found(input));
  return around;
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

/** Returns the open tasks that some words mean. */
async function tasksLike(words, limit) {
  const query = new URLSearchParams({ limit });
  const number = words.match(/^#?(\d+)$/);
  if (number) query.set("query", `id:${number[1]}`);
  else {
    if (words) query.set("query", JSON.stringify(words));
    for (const status of ["pending", "in_progress"]) query.append("status", status);
  }
  try {
    return (await call("GET", `${ofList("/tasks")}?${query}`)).tasks;
  } catch {
    return [];
  }
}

/** Shows below a field the tasks that are meant; choosing one writes its number into the field. */
function found(input) {
  const list = document.createElement("ul");
  list.className = "found";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Tasks");
  let asked = 0;
  const look = async () => {
    const now = ++asked;
    const tasks = await tasksLike(input.value.trim(), 12);
    if (now !== asked) return;
    list.replaceChildren(...tasks.map((task, place) => option(`#${task.id}  ${shownSubject(task)}`, { task: task.id }, place === 0)));
  };
  const choose = (one) => {
    input.value = one.dataset.task;
    form.requestSubmit();
  };
  walk(input, list, choose);
  input.addEventListener("input", look);
  look();
  return list;
}

function option(text, data, isSelected) {
  const item = document.createElement("li");
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", isSelected);
  Object.assign(item.dataset, data);
  const words = document.createElement("span");
  words.textContent = text;
  item.append(words);
  return item;
}

/** Lets arrows walk through the options of a list while somebody types. */
function walk(input, list, choose) {
  const shown = () => [...list.children].filter((one) => !one.hidden);
  const select = (one) => {
    for (const other of list.children) other.setAttribute("aria-selected", other === one);
    one?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("keydown", (event) => {
    const all = shown();
    const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown") select(all[Math.min(at + 1, all.length - 1)]);
    else if (event.key === "ArrowUp") select(all[Math.max(at - 1, 0)]);
    else if (event.key === "Enter" && all[at]) choose(all[at]);
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => {
    const one = event.target.closest('[role="option"]');
    if (one) choose(one);
  });
  return select;
}

/** Opens the palette: whatever there is, by its name. */
export function setUpPalette(perform, isPossible) {
  const palette = document.getElementById("palette");
  const text = document.getElementById("palette-text");
  const list = document.getElementById("palette-list");
  const commands = [...list.children];
  let asked = 0;
  const choose = (one) => {
    palette.close();
    if (one.dataset.act) perform(one.dataset.act);
    else if (one.dataset.task) go(withTask(one.dataset.task));
    else if (one.dataset.href) go(one.dataset.href);
  };
  const select = walk(text, list, choose);
  const filter = async () => {
    const words = text.value.trim().toLowerCase();
    list.querySelectorAll(".other").forEach((other) => other.remove());
    for (const command of commands) command.hidden = !command.textContent.toLowerCase().includes(words) || (command.dataset.act && !isPossible(command.dataset.act));
    for (const link of document.querySelectorAll("#lists li a")) {
      const name = link.querySelector(".name").textContent.trim();
      if (words && name.toLowerCase().includes(words)) list.append(other(option(`list ${name}`, { href: link.getAttribute("href") })));
    }
    select([...list.children].find((one) => !one.hidden));
    if (!words) return;
    const now = ++asked;
    const tasks = here().list ? await tasksLike(words, 8) : [];
    if (now !== asked) return;
    tasks.forEach((task) => list.append(other(option(`#${task.id}  ${shownSubject(task)}`, { task: task.id }))));
    if (!list.querySelector('[aria-selected="true"]:not([hidden])')) select([...list.children].find((one) => !one.hidden));
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
