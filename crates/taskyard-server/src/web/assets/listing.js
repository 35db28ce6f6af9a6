// What is done with whole lists: naming, merging, taking out, emptying and removing them, and choosing whose history is shown.

import { Refusal, attempt, call, ofList, say } from "./acts.js";
import { ask } from "./asking.js";
import { go, here } from "./parts.js";
import { pick } from "./picker.js";
import { base } from "./server.js";

const FORMATS = [["markdown", "Markdown"], ["csv", "CSV, for spreadsheets"], ["jsonl", "JSON lines"], ["export", "Taskyard's own"], ["mermaid", "Mermaid, a diagram"], ["taskwarrior", "Taskwarrior"], ["beads", "Beads"], ["taskmaster", "Task Master"], ["document", "One JSON document"]];
const part = encodeURIComponent;
const page = (list) => `${base}/lists/${part(list)}`;

/** Returns the names of all lists that the page knows of. */
export const listNames = () => {
  const shown = [...document.querySelectorAll("ul.lists > li")].map(({ id }) => id.slice("list-".length));
  return shown.length ? shown : [...document.querySelectorAll("#lists li a[data-list]")].map(({ dataset }) => dataset.list);
};

const listOf = (source) => source?.dataset?.list ?? here().list;

function listMenu(source) {
  const list = listOf(source);
  const items = [
    { value: "create-list", text: "New list" },
    ...(list ? [{ value: "rename-list", text: "Rename…" }, { value: "export-list", text: "Export…" }, { value: "merge-list", text: "Merge another list into this one…" }, { value: "clear-list", text: "Clear…" }, { value: "remove-list", text: "Remove…" }] : []),
  ];
  return pick({ heading: list ?? "Lists", anchor: source, options: items, hint: "What to do", does: (act) => deedOf(act, list) });
}

function deedOf(act, list) {
  if (act === "create-list") return document.dispatchEvent(new CustomEvent("taskyard-act", { detail: act }));
  return listDeeds[act]({ dataset: { list } });
}

function rename(source) {
  const list = listOf(source);
  ask(`Rename ${list}`, "Rename", [{ name: "name", label: "New name", required: true, value: list, kind: "wide" }], async ({ name }) => {
    const to = name.trim();
    await call("POST", `/lists/${part(list)}/rename`, { to });
    return () => go(page(to));
  });
}

function merge(source) {
  const list = listOf(source);
  const others = listNames().filter((name) => name !== list).map((name) => ({ value: name, text: name }));
  return pick({
    heading: `Take the tasks of which list in?`,
    anchor: source?.getBoundingClientRect ? source : null,
    options: others,
    // Its undo would take the tasks out of this list, and leave the other one without them.
    does: (from) => attempt(`The tasks of ${from} are in ${list} now`, [], () => call("POST", `/lists/${part(list)}/merge`, { from }), { undo: false }).then((done) => done && go(page(list))),
  });
}

function exportList(source) {
  const list = listOf(source);
  return pick({
    heading: `Export ${list} as`,
    anchor: source?.getBoundingClientRect ? source : null,
    options: FORMATS.map(([value, text]) => ({ value, text })),
    does: (to) => attempt("", [], () => call("GET", `/lists/${part(list)}/export?to=${to}`), { shows: false }).then((got) => got && keep(got, list)),
  });
}

/** Has the browser keep a file, and says what it could not hold. */
function keep({ text, to, count, lost }, list) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text ?? ""], { type: "text/plain" }));
  link.download = `${list}.${{ markdown: "md", csv: "csv", jsonl: "jsonl", mermaid: "mmd" }[to] ?? "json"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say(`${count} tasks of ${list} as ${link.download}${lost?.length ? `, without ${lost.length} things that it cannot hold` : ""}`);
}

function clear(source) {
  const list = listOf(source);
  ask(`Clear ${list}`, "Clear it", [{ kind: "words", text: "Every task of the list is removed. The history keeps them: Undo restores them." }], async () => {
    await attempt(`Cleared ${list}`, [], () => call("POST", `/lists/${part(list)}/clear`, {}), { list });
  });
}

function remove(source) {
  const list = listOf(source);
  const wanted = [{ kind: "words", text: "The list is removed with all of its tasks. Its history is kept: taskyard restore restores it." }, { name: "name", label: `Type ${list} to be sure`, kind: "wide", required: true }];
  ask(`Remove ${list}`, "Remove it", wanted, async ({ name }) => {
    if (name.trim() !== list) throw new Refusal("The name does not match");
    await call("DELETE", `/lists/${part(list)}`);
    return () => go(`${base}/lists`);
  });
}

/** Lets people choose whose history is shown: of everybody, of an agent, of a task. */
function historyOf(source) {
  const people = [...document.querySelectorAll("#people option")].map(({ value }) => ({ value, text: value }));
  return pick({
    heading: "History of",
    anchor: source,
    hint: "An agent, or #7",
    options: [{ value: "", text: "Everybody" }, ...people],
    other: (words) => ({ value: words, text: words, hint: words.startsWith("#") ? "a task" : "an agent" }),
    does: (open) => go(`${page(here().list)}/history${open ? `?${new URLSearchParams({ open })}` : ""}`),
  });
}

/** Takes several revisions back, one after the other or none. */
function undoRange() {
  const newest = document.querySelector("li[data-revision]")?.dataset.revision ?? "";
  const wanted = [
    { kind: "words", text: "All changes from the first to the last of these revisions are undone, newest first, or none are." },
    { name: "first", label: "From revision", required: true },
    { name: "last", label: "To revision", required: true, value: newest },
  ];
  ask("Undo several revisions", "Undo", wanted, async ({ first, last }) => {
    const [from, to] = [first, last].map((text) => Number(text.trim().replace(/^r/i, "")));
    if (!(from > 0 && to >= from)) throw new Refusal("Invalid revisions", "give two numbers, the earlier one first");
    const { undone } = await call("POST", ofList("/undo"), { revision: from, ...(to > from ? { last: to } : {}) });
    say(`Undid ${undone.map((one) => `r${one}`).join(", ")}`);
    return () => go(location.pathname + location.search);
  });
}

/** What is done with lists, by the word for it. */
export const listDeeds = { "list-menu": listMenu, "rename-list": rename, "merge-list": merge, "export-list": exportList, "clear-list": clear, "remove-list": remove, "history-of": historyOf, "undo-range": undoRange };
