// Editing in place: the subject of the open task, and its description. Nothing that comes meanwhile takes away what is being typed.

import { Conflict, Refusal, changeRead, readTask, say, sayDone } from "./acts.js";
import { refresh } from "./parts.js";
import { shownDescription, shownSubject, typedDescription, typedSubject } from "./texts.js";

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
  // What is stored, which is not what is shown.
  let before = source.dataset.text;
  const [show, meant] = field === "subject" ? [shownSubject, typedSubject] : [shownDescription, typedDescription];
  const shownOf = (stored) => show({ id, [field]: stored });
  const shown = [...around.childNodes];
  const input = document.createElement(rows > 1 ? "textarea" : "input");
  input.value = shownOf(before);
  input.setAttribute("aria-label", field === "subject" ? "Subject" : "Description, in Markdown");
  if (rows > 1) input.rows = Math.min(24, Math.max(rows, input.value.split("\n").length + 1));
  around.setAttribute("data-editing", "");
  const theirs = document.createElement("pre");
  theirs.className = "theirs";
  theirs.hidden = true;
  around.replaceChildren(input, theirs);
  let isOver = false;
  const leave = () => {
    isOver = true;
    around.removeAttribute("data-editing");
    around.replaceChildren(...shown);
    refresh(["task", "view"]);
  };
  const changedMeanwhile = (task) => {
    before = task[field];
    theirs.textContent = shownOf(before);
    theirs.hidden = false;
    throw new Refusal(`Somebody changed the ${field} meanwhile`, "theirs stands below; save again to write yours over it, or leave with Esc");
  };
  const save = async () => {
    if (isOver) return;
    if (input.value === shownOf(before)) return leave();
    try {
      const read = await readTask(id);
      read.task[field] === before || changedMeanwhile(read.task);
      let answer;
      try {
        answer = await changeRead(id, read, { [field]: meant({ id, [field]: before }, input.value) }, (one, other) => one[field] !== other[field]);
      } catch (error) {
        if (error instanceof Conflict) changedMeanwhile(error.current);
        throw error;
      }
      sayDone(`Changed #${id}`, answer);
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
