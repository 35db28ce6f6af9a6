// What people read of a task's texts, as the other boards show them: titles without the marks that `create --kind` puts before them and with
// every character escaped that hides or steers, descriptions without the block of facts. What is stored is not lost when they are saved.

const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const OWN = /^\x1b\[2m *#([\w-]+) *\x1b\[(?:22|0)m /;
const PARENT = /^\x1b\[2m *(\[\^#[\w-]+\] *)\x1b\[(?:22|0)m /;
const BLOCK = /\s*<macf_task_metadata\b[^>]*>[^]*?<\/macf_task_metadata>/;
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character) {
  const code = character.codePointAt(0);
  return SHORT[character] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);
}

function partsOf({ id, subject }) {
  const own = OWN.exec(subject);
  // The number of another task is no mark.
  if (own && own[1] !== id) return { parent: "", title: subject };
  const rest = own ? subject.slice(own[0].length) : subject;
  const parent = PARENT.exec(rest);
  return parent ? { parent: `${parent[1].trim()} `, title: rest.slice(parent[0].length) } : { parent: "", title: rest };
}

/** Returns the subject of a task as it is shown. */
export function shownSubject(task) {
  const { parent, title } = partsOf(task);
  return parent + title.replace(UNSEEN, escaped);
}

/** Returns the subject that is meant by what was made of the shown one: what the stored one has escaped there is itself again. */
export function typedSubject(task, typed) {
  const had = new Set(partsOf(task).title.match(UNSEEN));
  return [...had].reduce((text, character) => text.replaceAll(escaped(character), character), typed);
}

/** Returns the description of a task as it is shown. */
export const shownDescription = ({ description }) => description.replace(BLOCK, "");

/** Returns the description that is meant by what was made of the shown one: the block of facts stands below it. */
export function typedDescription({ description }, typed) {
  const block = BLOCK.exec(description);
  return block ? `${typed.trimEnd()}\n\n${block[0].trimStart()}`.trimStart() : typed;
}
