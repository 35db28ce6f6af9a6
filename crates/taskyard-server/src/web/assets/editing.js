// Editing in place: the subject of the open task, and its description. Nothing that comes meanwhile takes away what is being typed, and an editor
// belongs to the task it was opened on: if that is left, what was typed is there when it is opened again.

import { Conflict, Refusal, attempt, changeRead, readTask, say, sayDone } from "./acts.js";
import { askToDiscard, draftOf, keepDraft } from "./drafts.js";
import { button, refresh, whenDrawn } from "./parts.js";
import { shownDescription, shownSubject, typedDescription, typedSubject } from "./texts.js";

const FIELDS = {
  subject: { around: "h2.subject", source: "h2.subject", rows: 1, label: "Subject", show: shownSubject, meant: typedSubject },
  description: { around: "section.description", source: "section.description [data-edit]", rows: 10, label: "Description, in Markdown", show: shownDescription, meant: typedDescription },
};

/** Lets the subject be typed. */
export function editSubject() {
  const input = edit("subject");
  input?.focus();
  input?.select();
}

/** Lets the description be typed, as it was written. */
export const editDescription = () => edit("description")?.focus();

/** Opens the editors of the open task in which something was typed and not saved. */
function resume() {
  const { key } = document.getElementById("task").dataset;
  for (const field of Object.keys(FIELDS)) if (key && draftOf(`${field} ${key}`)) edit(field);
}
resume();
whenDrawn(resume);

const MARK = /^(\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[)([ xX])(?=\]\s)/;

/** Returns a description whose mark of that number is set or not; null if its marks are not those that are shown. */
function withMark(description, number, isSet, count) {
  let [marks, isCode] = [0, false];
  const lines = description.split("\n").map((line) => {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    if (isCode || !MARK.test(line) || marks++ !== number) return line;
    return line.replace(MARK, `$1${isSet ? "x" : " "}`);
  });
  return marks === count ? lines.join("\n") : null;
}

/** Sets or takes away the mark of a box in the description. */
export async function toggleBox(box) {
  const pane = box.closest("#task");
  const count = pane.querySelectorAll('.description [data-act="check"]').length;
  const done = await attempt(`Changed #${pane.dataset.task}`, [pane.dataset.task], async () => {
    const read = await readTask(pane.dataset.task);
    const description = withMark(read.task.description, Number(box.dataset.number), box.checked, count);
    if (description === null) throw new Refusal("The checkboxes of the description have changed", "reload it, or edit it");
    return changeRead(read, { description }, (one, other) => one.description !== other.description);
  });
  if (!done) box.checked = !box.checked;
}

/** Puts an editor in the place of a field, and returns what is typed into; undefined if it is being edited already. */
function edit(field) {
  const { around: where, source: from, rows, label, show, meant } = FIELDS[field];
  const pane = document.getElementById("task");
  const [around, source] = [pane.querySelector(where), pane.querySelector(from)];
  if (!source || around.hasAttribute("data-editing")) return undefined;
  const { task: id, key } = pane.dataset;
  const target = `${field} ${key}`;
  const draft = draftOf(target);
  // What is stored, which is not what is shown.
  let before = draft?.before ?? source.dataset.text;
  const shownOf = (stored) => show({ id, [field]: stored });
  const shown = [...around.childNodes];
  const input = document.createElement(rows > 1 ? "textarea" : "input");
  input.value = draft?.text ?? shownOf(before);
  input.dir = "auto";
  input.setAttribute("aria-label", label);
  if (rows > 1) input.rows = Math.min(24, Math.max(rows, input.value.split("\n").length + 1));
  around.setAttribute("data-editing", "");
  const theirs = document.createElement("pre");
  theirs.className = "theirs";
  theirs.hidden = true;
  around.replaceChildren(input, theirs);
  let isOver = false;
  const leave = () => {
    isOver = true;
    keepDraft(target, null);
    around.removeAttribute("data-editing");
    around.replaceChildren(...shown);
    refresh(["task", "view"]);
  };
  const cancel = () => (input.value === shownOf(before) ? leave() : askToDiscard(around, input, leave));
  const changedMeanwhile = (task) => {
    before = task[field];
    theirs.textContent = shownOf(before);
    theirs.hidden = false;
    throw new Refusal(`Someone changed the ${field} in the meantime`, "their version is below; save again to replace it with yours, or leave with Esc");
  };
  const save = async () => {
    if (isOver) return;
    if (input.value === shownOf(before)) return leave();
    try {
      const read = await readTask(id);
      read.task[field] === before || changedMeanwhile(read.task);
      let answer;
      try {
        answer = await changeRead(read, { [field]: meant({ id, [field]: before }, input.value) }, (one, other) => one[field] !== other[field]);
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
  input.addEventListener("input", () => keepDraft(target, input.value === shownOf(before) ? null : { before, text: input.value }));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") cancel();
    else if (event.key === "Enter" && (rows === 1 || event.ctrlKey || event.metaKey)) save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (rows > 1) around.append(button("Save", save, "primary"), button("Cancel", cancel));
  else input.addEventListener("blur", ({ relatedTarget }) => around.contains(relatedTarget) || save());
  return input;
}
