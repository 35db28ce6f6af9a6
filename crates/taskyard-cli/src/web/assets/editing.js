// Editing in place: the subject of the open task, and its description. Nothing that comes meanwhile takes away what is being typed.

import { Refusal, call, ofTask, say } from "./acts.js";
import { refresh } from "./parts.js";

const opened = () => document.getElementById("task");

/** Lets the subject be typed. */
export function editSubject() {
  const head = opened().querySelector("h2.subject");
  if (!head || head.hasAttribute("data-editing")) return;
  edit(head, head, "subject", 1);
}

/** Lets the description be typed, as it was written. */
export function editDescription() {
  const section = opened().querySelector("section.description");
  const text = section?.querySelector("[data-edit]");
  if (text && !section.hasAttribute("data-editing")) edit(section, text, "description", 10);
}

function edit(around, source, field, rows) {
  const id = opened().dataset.task;
  let before = source.dataset.text;
  const shown = [...around.childNodes];
  const input = document.createElement(rows > 1 ? "textarea" : "input");
  input.value = before;
  input.setAttribute("aria-label", field === "subject" ? "Subject" : "Description, in Markdown");
  if (rows > 1) input.rows = Math.min(24, Math.max(rows, before.split("\n").length + 1));
  around.setAttribute("data-editing", "");
  around.replaceChildren(input);
  let isOver = false;
  const leave = () => {
    isOver = true;
    around.removeAttribute("data-editing");
    around.replaceChildren(...shown);
    refresh(["task", "view"]);
  };
  const save = async () => {
    if (isOver) return;
    if (input.value === before) return leave();
    try {
      const { task } = await call("GET", ofTask(id));
      if (task[field] !== before) {
        before = task[field];
        throw new Refusal(`Somebody changed the ${field} meanwhile`, "save again to write yours over theirs, or leave with Esc to see it");
      }
      await call("PATCH", ofTask(id), { [field]: input.value });
      say(`Changed #${id}`, true);
      leave();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      say(`${error.message}${error.hint ? `: ${error.hint}` : ""}`);
      input.focus();
    }
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && (rows === 1 || event.ctrlKey || event.metaKey)) save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (rows > 1) around.append(button("Save", save, "primary"), button("Cancel", leave));
  else input.addEventListener("blur", save);
  input.focus();
  if (rows === 1) input.select();
}

function button(words, does, kind = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.className = kind;
  made.textContent = words;
  made.onclick = does;
  return made;
}
