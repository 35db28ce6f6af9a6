// The properties of tasks, each with what it is chosen from: in the open task, in the menu, with keys, and for several tasks at once.

import { Conflict, NO_TASK, Refusal, attempt, call, changeRead, move, numbers, ofList, ofTask, putIn, readTask, say, takeBack, waitFor } from "./acts.js";
import { ask } from "./asking.js";
import { targets } from "./cursor.js";
import { pick } from "./picker.js";
import { tasksLike } from "./looking.js";
import { shownSubject } from "./texts.js";

const STATES = [
  { value: "pending", text: "Pending", mark: "◻", tone: "pending" },
  { value: "in_progress", text: "In progress", mark: "◼", tone: "active", also: "start" },
  { value: "completed", text: "Done", mark: "✔", tone: "done", also: "complete" },
  { value: "cancelled", text: "Cancelled", mark: "✕", tone: "cancelled" },
];
const PRIORITIES = [
  { value: "high", text: "High", mark: "↑", also: "urgent" },
  { value: "medium", text: "Medium", mark: "–" },
  { value: "low", text: "Low", mark: "↓" },
  { value: "", text: "No priority", mark: "" },
];
const KINDS = ["mission", "experiment", "phase", "bug", "detour", "task"].map((kind) => ({ value: kind, text: kind }));
const TIMES = [["today 18:00", "Today"], ["tomorrow 18:00", "Tomorrow"], ["fri 18:00", "Friday"], ["mon 9:00", "Monday"], ["7d", "In a week"], ["30d", "In a month"]];
const SPANS = [["30m", "30 minutes"], ["1h", "1 hour"], ["2h", "2 hours"], ["4h", "4 hours"], ["1d", "1 day"], ["3d", "3 days"], ["5d", "A week"]];
const chosenFrom = (pairs, none) => [...pairs.map(([value, text]) => ({ value, text, hint: value })), { value: "none", text: none }];

const namesIn = (id) => [...document.querySelectorAll(`#${id} option`)].map(({ value }) => value);
const taskOption = (task) => ({ value: task.id, text: `#${task.id}  ${shownSubject(task)}` });

/** Returns the open tasks that words mean, without some. */
const tasksBut = (ids) => async (words) => (await tasksLike(words, 12)).filter((task) => !ids.includes(task.id)).map(taskOption);

/** Returns what a list of things has, with those marked that are set. */
const marked = (options, value) => options.map((item) => ({ ...item, isSet: item.value === value }));

/** What a property of a task is, as a change compares it with what somebody else made of it. */
const was = (task, field) => JSON.stringify(field === "owner" ? (task.owner ?? "") : (task.metadata?.[field] ?? ""));

/** Changes fields of tasks; of one that was read, only if nobody changed that property meanwhile. */
function save(words, ids, read, field, fields) {
  return attempt(words, ids, async () => {
    if (!read) return call("PATCH", ofList("/tasks"), { ids, ...fields });
    try {
      return await changeRead(read, fields, (one, other) => was(one, field) !== was(other, field));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      const now = field === "owner" ? `it became ${error.current.owner ? `${error.current.owner}'s` : "nobody's"}` : `its ${field} was changed`;
      throw new Refusal(`Meanwhile ${now}`, "choose again to override it");
    }
  });
}

const simply = (field, heading, options, more = {}) => ({
  heading,
  options: (task) => marked(options, field === "estimate" || !task ? undefined : (task.metadata?.[field] ?? "")),
  does: (ids, read, value, item) => save(`${numbers(ids)}: ${heading.toLowerCase()} ${item.text.toLowerCase()}`, ids, read, field, fieldsOf(field, value)),
  ...more,
});

function fieldsOf(field, value) {
  // What nothing else takes away, null in the metadata does.
  if (["priority", "parent", "kind"].includes(field) && (value === "" || value === "none")) return { metadata: { [field]: null } };
  return { [field]: value };
}

const typedTime = (words) => ({ value: words, text: words, hint: "as typed" });

const FIELDS = {
  status: {
    heading: "Status",
    options: (task) => marked(STATES, task?.metadata?.cancelled ? "cancelled" : task?.status),
    does: (ids, _, value) => (value === "cancelled" ? move("cancel", "Cancelled", ids) : putIn(value, ids)),
  },
  owner: {
    heading: "Owner",
    options: (task) => {
      const own = document.querySelector(".you b")?.textContent;
      const names = [...new Set([own, ...namesIn("people")])].filter(Boolean);
      const people = names.map((name) => ({ value: name, text: name, hint: name === own ? "you" : "", also: name === own ? "me" : "" }));
      return marked([...people, { value: "", text: "Nobody" }], task ? (task.owner ?? "") : undefined);
    },
    other: (words) => ({ value: words, text: words, hint: "new name" }),
    does: (ids, read, value) => save(`${numbers(ids)} ${ids.length === 1 ? "is" : "are"} ${value ? `${value}'s` : "nobody's"} now`, ids, read, "owner", { owner: value }),
  },
  priority: simply("priority", "Priority", PRIORITIES),
  due: simply("due", "Due", chosenFrom(TIMES, "No date"), { days: true, other: typedTime, hint: "fri 17:00, 3d, 2026-12-24" }),
  defer: simply("defer", "Not before", chosenFrom(TIMES, "No date"), { days: true, other: typedTime, hint: "mon, 2h, 2026-12-24" }),
  estimate: simply("estimate", "Estimate", chosenFrom(SPANS, "No estimate"), { other: typedTime, hint: "2h, 3d" }),
  kind: simply("kind", "Kind", KINDS, { other: (words) => ({ value: words, text: words, hint: "a word of your own" }) }),
  parent: {
    heading: "Part of",
    options: (task, ids) => async (words) => {
      const none = task?.metadata?.parent && !words ? [{ value: "", text: "No parent" }] : [];
      return [...none, ...(await tasksBut(ids)(words))];
    },
    does: (ids, read, value) => save(value ? `${numbers(ids)} ${ids.length === 1 ? "is a part" : "are parts"} of #${value} now` : `${numbers(ids)} stands alone now`, ids, read, "parent", fieldsOf("parent", value)),
  },
  "blocked-by": {
    heading: "Blocked by",
    options: (task, ids) => async (words) => {
      const found = await tasksBut(ids)(words);
      return found.map((item) => ({ ...item, isSet: task?.blockedBy?.includes(item.value) ?? false }));
    },
    does: (ids, _, value, item) => (item.isSet ? unblock(ids[0], value) : waitFor(ids, value)),
  },
  blocks: {
    heading: "Blocks",
    options: (_, ids) => tasksBut(ids),
    does: (ids, _, value) => attempt(`#${value} waits for ${numbers(ids)} now`, ids, () => call("PATCH", ofTask(value), { addBlockedBy: ids })),
  },
  tags: { heading: "Tags", several: true },
};

/** Takes an edge away. */
export function unblock(id, on) {
  return attempt(`#${id} no longer waits for #${on}`, [id], () => call("DELETE", `${ofTask(id, "/dependencies")}?on=${encodeURIComponent(on)}`));
}

/** Lets a property of the meant tasks be chosen. */
export async function set(field, source) {
  const ids = targets(source);
  if (!ids.length) return say(NO_TASK);
  const read = await readOnly(ids);
  if (read === undefined) return undefined;
  const anchor = anchorOf(source, ids, field);
  if (field === "tags") return setTags(ids, read, anchor);
  const { heading, options, other, days, hint, does } = FIELDS[field];
  return pick({
    heading: ids.length > 1 ? `${heading} · ${numbers(ids)}` : heading,
    anchor,
    options: options(read?.task, ids),
    other,
    days,
    hint,
    does: (value, item) => does(ids, read, value, item),
  });
}

/** Returns what tasks can be given at once, without a further choice: "Priority high". */
export function settings(ids) {
  const people = [...namesIn("people").map((name) => [name, name]), ["", "nobody"]];
  const pairs = [
    ...STATES.map(({ value, text }) => ["status", value, text.toLowerCase()]),
    ...PRIORITIES.map(({ value, text }) => ["priority", value, value ? text.toLowerCase() : "none"]),
    ...people.map(([value, text]) => ["owner", value, text]),
    ...TIMES.map(([value, text]) => ["due", value, text.toLowerCase()]),
    ["due", "none", "none"],
    ...SPANS.map(([value, text]) => ["estimate", value, text]),
    ...namesIn("tags").map((tag) => ["tags", tag, tag]),
  ];
  const does = (field, value, text) => {
    if (field === "status") return FIELDS.status.does(ids, null, value);
    if (field === "owner") return FIELDS.owner.does(ids, null, value);
    if (field === "tags") return save(`${numbers(ids)}: tagged ${value}`, ids, null, field, { addTags: [value] });
    return FIELDS[field].does(ids, null, value, { text });
  };
  const name = { tags: "Tag" };
  return pairs.map(([field, value, text]) => ({ text: `${name[field] ?? FIELDS[field].heading} ${text}, for ${numbers(ids)}`, does: () => does(field, value, text) }));
}

/** Reads the task if it is one alone; null for several, undefined if it cannot be read. */
async function readOnly(ids) {
  if (ids.length > 1) return null;
  let read;
  await attempt("", ids, async () => (read = await readTask(ids[0])), { shows: false });
  return read;
}

function setTags(ids, read, anchor) {
  const had = new Set(read?.task.metadata?.tags ?? []);
  return pick({
    heading: ids.length > 1 ? `Tags · ${numbers(ids)}` : "Tags",
    anchor,
    several: true,
    hint: "Type a tag",
    options: (words) => {
      const all = [...new Set([...had, ...namesIn("tags")])];
      return all.filter((tag) => tag.toLowerCase().includes(words.toLowerCase())).slice(0, 60).map((tag) => ({ value: tag, text: tag, isSet: had.has(tag) }));
    },
    other: (words) => ({ value: words.replace(/^\+/, ""), text: words.replace(/^\+/, ""), hint: "new tag" }),
    does: async (tag) => {
      const isSet = had.has(tag);
      const done = await save(`${numbers(ids)}: ${isSet ? "no longer" : "tagged"} ${tag}`, ids, null, "tags", isSet ? { removeTags: [tag] } : { addTags: [tag] });
      if (done) isSet ? had.delete(tag) : had.add(tag);
    },
  });
}

/** Returns what a picker stands beside: what was clicked, else the property of the open task, else the card or row. */
function anchorOf(source, ids, field) {
  if (source?.getBoundingClientRect) return source;
  if (source?.place) return source.place;
  const open = document.getElementById("task");
  const inPane = !open.hidden && open.dataset.task === ids[0] ? open.querySelector(`[data-set="${field}"]`) : null;
  return inPane ?? document.querySelector(`#view [data-task="${CSS.escape(ids[0])}"]`);
}

/** Everything that can be done with tasks, for menus: the word for it, what it is called, its key, and on which states it makes sense. */
const MENU = [
  ["start", "Start", "s", "pending"], ["done", "Complete", "d", "pending in_progress"], ["reopen", "Reopen", "o", "completed"], ["put-back", "Put back", "<", "in_progress"],
  ["claim", "Claim", "t", "pending"], ["release", "Release", "r", "in_progress"],
  ["set-status", "Status…", "", ""], ["assign", "Owner…", "a", ""], ["set-priority", "Priority…", "P", ""], ["set-tags", "Tags…", "T", ""], ["set-due", "Due…", "D", ""], ["set-defer", "Not before…", "", ""],
  ["set-estimate", "Estimate…", "", ""], ["set-parent", "Part of…", "", ""], ["blocked-by", "Blocked by…", "b", ""], ["set-blocks", "Blocks…", "", ""], ["set-kind", "Kind…", "", ""],
  ["create-part", "Add a part", "p", "", "one"], ["note", "Add a note", "n", "", "one"], ["edit", "Rename", "e", "", "one"], ["edit-all", "Edit every field", "E", "", "one"], ["metadata", "Metadata…", "", "", "one"],
  ["job", "Run a command for it…", "", "", "one", "exec"], ["copy-link", "Copy link", "", "", "one"], ["focus", "Show it in the graph", "f", "", "one"], ["task-history", "History of it", "", "", "one"], ["take-back", "Take back its newest change", "", "", "one"],
  ["cancel", "Cancel", "C", "pending in_progress"], ["delete", "Delete", "Delete", ""], ["delete-with-parts", "Delete with its parts", "", "", "one"],
];

/** Shows everything that can be done with the meant tasks. */
export function menu(source, perform) {
  const ids = targets(source);
  if (!ids.length) return say(NO_TASK);
  const status = document.querySelector(`[data-task="${CSS.escape(ids[0])}"][data-status]`)?.dataset.status ?? "";
  const runsCommands = document.documentElement.hasAttribute("data-exec");
  const fits = ([, , , states, one, exec]) => (ids.length > 1 ? !one : !states || states.includes(status)) && (!exec || runsCommands);
  return pick({
    heading: ids.length > 1 ? numbers(ids) : `#${ids[0]}`,
    anchor: source?.place ?? anchorOf(source, ids, "menu"),
    options: MENU.filter(fits).map(([act, text, key]) => ({ value: act, text, key })),
    hint: "What to do",
    does: (act) => perform(act, { ids, place: source?.place }),
  });
}

/** Lets a key of a task's metadata be written. */
export async function setMetadata(id) {
  const { task } = await readTask(id);
  const kept = Object.entries(task.metadata ?? {}).filter(([key]) => !["notes"].includes(key));
  const wanted = [
    { kind: "words", text: kept.length ? kept.map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join("\n") : "None yet." },
    { name: "key", label: "Key", required: true },
    { name: "value", label: "Value, as JSON (empty to remove the key)", hint: '"text", 3, ["a", "b"]' },
  ];
  ask(`Metadata of #${id}`, "Save", wanted, async ({ key, value }) => {
    let read = null;
    try {
      if (value.trim()) read = JSON.parse(value);
    } catch {
      throw new Refusal("The value is not JSON", 'put text in quotes: "docs"');
    }
    await attempt(`Changed #${id}`, [id], () => call("PATCH", ofTask(id), { metadata: { [key.trim()]: read } }));
  });
}

/** Takes back the newest change of a task. */
export async function takeBackNewest(id) {
  let newest;
  await attempt("", [id], async () => (newest = (await call("GET", `${ofTask(id, "/history")}?limit=1`)).entries.at(-1)), { shows: false });
  return newest ? takeBack(newest.revision) : say(`Nothing happened to #${id} here`);
}
