// Everything that can be done from a page, by the word for it: keys, buttons and the palette all come here.

import { Conflict, NO_TASK, Refusal, attempt, call, changeRead, forgetRefusals, move, numbers, ofList, ofTask, putIn, readTask, redo, say, sayDone, takeBack, takeBackOwn } from "./acts.js";
import { ask, setUpPalette, showTheirs, withTask } from "./asking.js";
import { saveFilter } from "./completing.js";
import { current, cursorTo, fold, moveCursor, select, selectAll, selectNone, selectThese, stayInPlace, targets } from "./cursor.js";
import { forgetDrafts } from "./drafts.js";
import { editDescription, editSubject, toggleBox } from "./editing.js";
import { go, here, refresh } from "./parts.js";
import { pick } from "./picker.js";
import { fit, zoom } from "./picture.js";
import { listDeeds, listNames } from "./listing.js";
import { base, forgetSecret } from "./server.js";
import { menu, set, setMetadata, settings, takeBackNewest, unblock } from "./setting.js";
import { shownDescription, shownSubject, typedDescription, typedSubject } from "./texts.js";

const COLUMNS = ["pending", "in_progress", "completed"];
/** What can be done where no list is open; `create` asks for one there. */
const ANYWHERE = ["up", "down", "left", "right", "open", "close", "palette", "help", "filter", "theme", "log-out", "invite", "create", "create-list", "list-menu", "rename-list", "remove-list", "merge-list", "clear-list", "export-list"];
const isPossible = (act) => Boolean(here().list) || ANYWHERE.includes(act);
const openPalette = setUpPalette((act) => perform(act), isPossible, () => (mayChange() && here().list && targets().length ? settings(targets()) : []));

const deeds = {
  up: () => moveCursor("up"),
  down: () => moveCursor("down"),
  left: () => moveCursor("left"),
  right: () => moveCursor("right"),
  open: () => current() && go(withTask(current())),
  close,
  palette: openPalette,
  help: () => document.getElementById("help").showModal(),
  filter,
  theme: nextTheme,
  "log-out": logOut,
  create: () => create(),
  "create-list": createList,
  "create-part": (source) => one(source) && create(one(source)),
  edit: (source) => openThen(editSubject, source),
  describe: (source) => openThen(editDescription, source),
  "edit-all": editAll,
  // In a conversation it is a message.
  note: (source) => (document.getElementById("letter") ? document.getElementById("letter").focus() : openThen(() => document.getElementById("note")?.focus(), source)),
  menu: (source) => menu(source, perform),
  metadata: (source) => (one(source) ? setMetadata(one(source)) : say(NO_TASK)),
  "take-back": (source) => (one(source) ? takeBackNewest(one(source)) : say(NO_TASK)),
  "copy-link": (source) => copyLink(one(source)),
  "task-history": (source) => one(source) && go(`${base}/lists/${encodeURIComponent(here().list)}/history?${new URLSearchParams({ open: `#${one(source)}` })}`),
  focus: (source) => (one(source) ? go(`${base}/lists/${encodeURIComponent(here().list)}/graph?${new URLSearchParams({ focus: one(source), task: one(source) })}`) : say(NO_TASK)),
  job: (source) => startJob(one(source)),
  ...listDeeds,
  start: (source) => move("start", "Started", targets(source)),
  done: (source) => stayInPlace(source, () => move("done", "Done:", targets(source))),
  reopen: (source) => move("reopen", "Reopened", targets(source)),
  cancel: (source) => stayInPlace(source, () => move("cancel", "Cancelled", targets(source))),
  fold: (button) => fold(button.closest(".group")),
  "save-filter": saveFilter,
  group: (button) => arrange("group", button, [["", "None"], ["owner", "Owner"], ["parent", "Parent"], ["tag", "Tag"], ["priority", "Priority"]]),
  sort: (button) => arrange("sort", button, [["", "Rank: what comes next first"], ["due", "Due"], ["-changed", "Changed last"]]),
  claim: (source) => move("claim", "You have", targets(source)),
  release: (source) => move("release", "Gave back", targets(source)),
  "put-back": (source) => putIn("pending", targets(source)),
  "move-left": () => moveColumn(-1),
  "move-right": () => moveColumn(1),
  assign: (source) => set("owner", source),
  "blocked-by": (source) => set("blocked-by", source),
  invite,
  "unblock-pick": unblockPick,
  unblock: (button) => unblock(document.getElementById("task").dataset.task, button.dataset.on),
  delete: (source) => remove(source),
  "delete-with-parts": (source) => remove(source, true),
  undo: undoHere,
  "undo-revision": (button) => takeBack(button.dataset.revision, button.dataset.last),
  redo,
  select: (box) => (box?.matches?.("input") ? select(box.closest("[data-task]").dataset.task, box.checked) : current() && select(current())),
  "select-all": (box) => selectAll(box?.checked ?? true),
  "select-none": selectNone,
  "select-every": selectEvery,
  check: toggleBox,
  "next-need": () => {
    const needs = document.querySelector("#truth .counts a.alarm");
    return needs ? needs.click() : say("Nothing needs attention");
  },
  restore: () => attempt("They are back", [], () => call("POST", ofList("/restore"), { all: true })),
  "release-agent": (button) => attempt("Gave them back", [], () => call("POST", ofList(`/agents/${encodeURIComponent(button.dataset.agent)}/release`), {})),
  "stop-job": (button) => attempt("Stopped", [], () => call("POST", `/jobs/${encodeURIComponent(button.dataset.job)}/stop`, {}), { undo: false }).then(() => refresh(["views"])),
  "create-team": createTeam,
  "leave-team": (button) => attempt("You left the team", [], () => call("DELETE", `/teams/${encodeURIComponent(button.dataset.team)}/members/${encodeURIComponent(button.dataset.agent)}`), { undo: false }),
  approve: (button) => answerPlan(button, true),
  reject: (button) => answerPlan(button, false),
  join: (button) => attempt("You are in the team", [], () => call("POST", `/teams/${encodeURIComponent(button.dataset.team)}/members`, {}), { undo: false }),
  "zoom-in": () => zoom(1.25),
  "zoom-out": () => zoom(0.8),
  "zoom-fit": fit,
};

const mayChange = () => document.documentElement.dataset.scope !== "read";

/** What a page may do whose browser was let in only to read; undefined if it may do everything. */
const offered = document.documentElement.dataset.offers?.split(" ");

/** Does something, by the word for it. */
export function perform(act, source) {
  if (act.startsWith("show-")) return show(act.slice(5));
  if (act === "set") return perform(`set-${source.dataset.set}`, source);
  if (!isPossible(act)) return say("Choose a list first");
  if (offered && !offered.includes(act)) return say("This browser is read-only: its link does not allow changes");
  return act.startsWith("set-") ? set(act.slice(4), source) : deeds[act]?.(source);
}

/** Lets people choose how columns are grouped or sorted. */
function arrange(name, button, options) {
  const now = new URLSearchParams(location.search).get(name) ?? "";
  return pick({
    heading: name === "group" ? "Group by" : "Sort by",
    anchor: button,
    options: options.map(([value, text]) => ({ value, text, isSet: value === now })),
    does: (value) => {
      const address = new URL(location.href);
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
      return go(address.pathname + address.search, { parts: ["views", "truth", "view"] });
    },
  });
}

/** Returns the one task that is meant. */
const one = (source) => targets(source)[0];

async function copyLink(id) {
  if (!id) return say(NO_TASK);
  const link = `${location.origin}${base}/lists/${encodeURIComponent(here().list)}?task=${encodeURIComponent(id)}`;
  try {
    await navigator.clipboard.writeText(link);
    say(`The link of #${id} is copied`);
  } catch {
    showLink(`The link of #${id}`, "It can be opened by everybody who is let in.", link);
  }
}

function showLink(title, words, text) {
  document.getElementById("invited-title").textContent = title;
  document.getElementById("invited-words").textContent = words;
  const link = document.getElementById("invited-link");
  link.value = text;
  document.getElementById("invited").showModal();
  link.select();
}

/** Starts a command in the background, for a task if one is meant. */
function startJob(id) {
  const wanted = [
    { name: "command", label: "Shell command", required: true, kind: "wide", hint: "cargo test" },
    { name: "name", label: "Name" },
    { name: "timeout", label: "Stop it after", hint: "10m" },
  ];
  ask(id ? `Run a command for #${id}` : "Run a command", "Run", wanted, async ({ command, name, timeout }) => {
    const job = { command: ["sh", "-c", command], description: command };
    if (name.trim()) job.name = name.trim();
    if (timeout.trim()) job.timeout = timeout.trim();
    if (id) job.task = id;
    await call("POST", ofList("/jobs"), job);
    say("It runs");
    refresh(["views", "truth", "view", "task"]);
  }, `job ${here().list}/${id ?? ""}`);
}

/** Makes a team of the list and leads it. */
function createTeam() {
  const wanted = [{ kind: "words", text: `The team has the list ${here().list}. Its members write to each other, and may need your approval before they start.` }, { name: "description", label: "What it is for", kind: "wide" }];
  ask("New team", "Create", wanted, async ({ description }) => {
    await call("POST", "/teams", { name: here().list, ...(description.trim() ? { description: description.trim() } : {}) });
    refresh();
  });
}

function answerPlan({ dataset: { agent, request, team } }, approves) {
  const answer = (fields) => attempt(approves ? `${agent} may begin` : `Sent to ${agent}`, [], () => call("POST", "/messages", { to: agent, team, text: "", ...fields }), { undo: false }).then(() => refresh(["truth", "view", "agents"]));
  if (approves) return answer({ approve: request });
  ask(`Reject the plan of ${agent}`, "Reject", [{ name: "why", label: "Reason, and what to do instead", kind: "long", required: true }], async ({ why }) => void (await answer({ reject: request, text: why })));
}

/** Makes a link that lets another browser in. Only a browser that may do everything can choose another name. */
function invite() {
  const isOwner = document.documentElement.dataset.scope === "all";
  const wanted = [{ name: "scope", label: "Scope", options: [["work", "Work on tasks"], ["read", "Only look"]] }];
  if (isOwner) wanted.unshift({ name: "name", label: "Acting agent (you, if empty)", list: "people" });
  ask("Invite", "Create a link", wanted, async ({ name = "", scope }) => {
    const body = name.trim() ? { scope, name: name.trim() } : { scope };
    const made = await call("POST", "/links", body);
    return () => {
      showLink("A single-use link", `It works once. The browser that opens it acts as ${made.agent}${made.scope === "read" ? " and can only look" : ""}.`, made.link);
    };
  });
}

function show(view) {
  if (view === "lists") return go(`${base}/lists`);
  if (!here().list) return undefined;
  const link = [...document.querySelectorAll("#views a")].find((link) => link.dataset.view === view);
  return go(link?.getAttribute("href") ?? `${base}/lists/${encodeURIComponent(here().list)}`);
}

/** Takes back the revision that has the focus in the history, else the one that stands there as the newest of one's own. */
function undoHere() {
  const beside = document.activeElement?.closest?.("li[data-revision]") ?? document.querySelector("li[data-own-newest]");
  return beside ? takeBack(beside.dataset.revision) : takeBackOwn();
}

function close() {
  forgetRefusals();
  selectNone();
  const open = document.getElementById("task");
  if (!open.hidden) {
    const id = open.dataset.task;
    go(withTask(null), { parts: ["views", "truth", "view", "task"] }).then(() => cursorTo(id));
  }
}

/** Opens the task under the cursor, where it is not open, and then does something with it. */
async function openThen(does, source) {
  const id = source?.ids?.[0] ?? current();
  if (!id) return say(NO_TASK);
  const open = document.getElementById("task");
  if (open.hidden || open.dataset.task !== id) await go(withTask(id), { parts: ["views", "truth", "view", "task"] });
  does();
}

async function filter() {
  if (!here().list) return openPalette();
  if (!document.getElementById("query")) await go(`${base}/lists/${encodeURIComponent(here().list)}/table`);
  document.getElementById("query")?.select();
}

const PRIORITIES = [["", "as usual"], ["high", "high"], ["medium", "medium"], ["low", "low"]];
const KINDS = [["", "none"], ...["mission", "experiment", "phase", "bug", "detour", "task"].map((kind) => [kind, kind])];
const words = (text) => text.split(/[\s,]+/).map((word) => word.replace(/^#/, "")).filter(Boolean);

/** Returns a task as the fields of a dialog show it. */
function asFields(task) {
  const { priority = "", tags = [], due = "", defer = "", estimate = "" } = task.metadata ?? {};
  return { subject: shownSubject(task), description: shownDescription(task), activeForm: task.activeForm ?? "", owner: task.owner ?? "", priority, tags: tags.join(", "), due, defer, estimate: estimate ? `${estimate}s` : "" };
}

/** Lets every field of a task be typed. Only what was changed is sent, and nothing that somebody else changed meanwhile is overwritten unseen. */
async function editAll(source) {
  const id = source?.ids?.[0] ?? current();
  if (!id) return say(NO_TASK);
  let read = await readTask(id);
  const wanted = [
    { name: "subject", label: "Subject", required: true, kind: "wide" },
    { name: "description", label: "Description, in Markdown", kind: "long" },
    { name: "activeForm", label: "Text while in progress", kind: "wide" },
    { name: "owner", label: "Owner", list: "people" },
    { name: "priority", label: "Priority", options: PRIORITIES },
    { name: "tags", label: "Tags", hint: "docs, release", kind: "tags" },
    { name: "due", label: "Due", hint: "fri 17:00, 3d", kind: "date" },
    { name: "defer", label: "Not before", hint: "mon, 2h", kind: "date" },
    { name: "estimate", label: "Estimate", hint: "2h" },
  ].map((field) => ({ ...field, value: asFields(read.task)[field.name] }));
  ask(`#${id}`, "Save", wanted, async (typed) => {
    const before = asFields(read.task);
    const touched = Object.keys(typed).filter((name) => typed[name] !== before[name]);
    const fields = {};
    for (const name of touched) {
      const value = typed[name];
      if (name === "tags") fields.tags = words(value);
      else if (name === "subject") fields.subject = typedSubject(read.task, value);
      else if (name === "description") fields.description = typedDescription(read.task, value);
      else if (name === "priority" && !value) fields.metadata = { priority: null };
      else fields[name] = value || !["due", "defer", "estimate"].includes(name) ? value : "none";
    }
    if (!touched.length) return;
    const differs = (one, other) => touched.some((name) => asFields(one)[name] !== asFields(other)[name]);
    let answer;
    try {
      answer = await changeRead(read, fields, differs);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      showTheirs(before, asFields(error.current));
      read = { ...read, task: error.current, tag: error.tag };
      throw new Refusal("Someone else changed this in the meantime", "choose a version and save again");
    }
    sayDone(`Changed #${id}`, answer);
    refresh(["truth", "view", "task", "agents"]);
  }, `fields ${read.path}`);
}


/** Asks for a name and a first task: a list is there for as long as it has had tasks. */
function createList() {
  const wanted = [{ name: "name", label: "Name", required: true }, { name: "subject", label: "Its first task", required: true }];
  ask("New list", "Create", wanted, async ({ name, subject }) => {
    const list = name.trim();
    if (listNames().includes(list)) throw new Refusal("A list with that name already exists");
    await call("POST", `/lists/${encodeURIComponent(list)}/tasks`, { subject });
    return () => go(`${base}/lists/${encodeURIComponent(list)}`);
  }, "list");
}

function create(parent) {
  const { list } = here();
  if (!list && !listNames().length) return createList();
  const wanted = [
    { name: "subject", label: "Subject", required: true, kind: "wide" },
    { name: "description", label: "Description, in Markdown", kind: "long" },
    { name: "owner", label: "Owner", list: "people" },
    { name: "priority", label: "Priority", options: PRIORITIES },
    { name: "tags", label: "Tags", hint: "docs, release", kind: "tags" },
    { name: "due", label: "Due", hint: "fri 17:00, 3d", kind: "date" },
    { name: "blockedBy", label: "Blocked by", hint: "7, 9" },
    { name: "blocks", label: "Blocks", hint: "12" },
    { name: "parent", label: "Part of", hint: "3", value: parent ?? "" },
    { name: "kind", label: "Kind", options: KINDS },
    { name: "defer", label: "Not before", hint: "mon, 2h", kind: "date" },
    { name: "estimate", label: "Estimate", hint: "2h" },
  ];
  if (!list) wanted.unshift({ name: "list", label: "List", options: listNames().map((name) => [name, name]) });
  ask(parent ? `A new part of #${parent}` : "New task", "Create", wanted, async (typed) => {
    const task = { subject: typed.subject };
    for (const name of ["description", "owner", "priority", "due", "defer", "estimate", "kind"]) if (typed[name].trim()) task[name] = typed[name].trim();
    for (const name of ["blockedBy", "blocks", "tags"]) if (words(typed[name]).length) task[name] = words(typed[name]);
    if (typed.parent.trim()) task.parent = typed.parent.trim().replace(/^#/, "");
    const path = `/lists/${encodeURIComponent(list ?? typed.list)}`;
    const made = await call("POST", `${path}/tasks`, task);
    if (!list) return () => go(`${base}${path}?task=${encodeURIComponent(made.task.id)}`);
    sayDone(`Made #${made.task.id}`, made);
    await refresh(["truth", "view", "task"]);
    return () => cursorTo(made.task.id);
  }, `create ${list ?? ""}/${parent ?? ""}`);
}

async function unblockPick() {
  const id = current();
  if (!id) return;
  const { task } = await call("GET", ofTask(id));
  const on = task.blockedBy ?? [];
  if (!on.length) return say(`#${id} waits for nothing`);
  if (on.length === 1) return unblock(id, on[0]);
  const wanted = [{ name: "on", label: "Remove the dependency on", options: on.map((one) => [one, `#${one}`]) }];
  ask(`#${id}`, "No longer wait", wanted, async (typed) => void (await unblock(id, typed.on)));
}

async function remove(source, withParts = false) {
  const ids = targets(source);
  if (!ids.length) return say(NO_TASK);
  if (await attempt(`Deleted ${numbers(ids)}`, ids, () => call("POST", ofList("/delete"), { ids, withParts }))) selectNone();
}

/** Selects what all pages of the table show. */
async function selectEvery() {
  const [shown, wanted] = [new URLSearchParams(location.search), new URLSearchParams()];
  if (shown.get("q")) wanted.set("query", shown.get("q"));
  // The table leaves out what is long done.
  else if (!shown.get("sort")) for (const status of ["pending", "in_progress"]) wanted.append("status", status);
  const found = await attempt("", [], () => call("GET", `${ofList("/tasks")}?${wanted}`));
  if (found) selectThese(found.tasks.map(({ id }) => id));
}

function moveColumn(step) {
  const ids = targets();
  const status = document.querySelector(`[data-task="${CSS.escape(ids[0] ?? "")}"][data-status]`)?.dataset.status;
  const to = COLUMNS[COLUMNS.indexOf(status) + step];
  if (to) putIn(to, ids);
}

/** Ends the session of this browser, in all of its tabs. */
function logOut() {
  return attempt("", [], async () => {
    await call("POST", "/logout", {});
    forgetSecret();
    forgetDrafts();
    location.replace(`${base}/lists`);
  });
}

function nextTheme() {
  const themes = ["system", "light", "dark"];
  const next = themes[(themes.indexOf(localStorage.getItem("taskyard-theme") ?? "system") + 1) % themes.length];
  localStorage.setItem("taskyard-theme", next);
  useTheme();
  say(next === "system" ? "Light or dark, following the system" : `Always ${next}`);
}

export function useTheme() {
  const theme = localStorage.getItem("taskyard-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** What is written into the forms of the page. */
export const forms = {
  note: async (form, text) => {
    const id = form.closest("#task").dataset.task;
    sayDone(`Noted on #${id}`, await call("POST", ofTask(id, "/notes"), { text }));
    refresh(["task", "view"]);
  },
  "quick-add": async (form, text) => {
    const { lane, value } = form.closest(".columns").dataset;
    const fields = lane && value ? { [lane === "tag" ? "tags" : lane]: lane === "tag" ? [value] : value } : {};
    const made = await call("POST", ofList("/tasks"), { subject: text, inline: true, ...fields });
    sayDone(`Made #${made.task.id}`, made);
    refresh(["truth", "view"]);
  },
  send: async (form, text) => {
    const { to, team } = form.dataset;
    await call("POST", "/messages", { to, text, ...(team ? { team } : {}) });
    say(to === "*" ? "Sent to everybody" : `Sent to ${to}`);
    refresh(["views", "truth", "view"]);
  },
};
