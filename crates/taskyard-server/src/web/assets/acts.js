// What people do, through the API. A refusal is said beside the thing that was refused, with what to do next.

import { fetchAgain, warn } from "./fetching.js";
import { button, here, refresh } from "./parts.js";
import { base, proof } from "./server.js";

/** How often a request is sent again whose answer was lost. */
const AGAIN = 3;
/** The same for a lookup, which somebody waits for until it is answered. */
const UNTIL_ANSWERED = Number.MAX_SAFE_INTEGER;
const said = document.getElementById("said");
/** What was done from this page, newest last: the list, and the revisions that it made. */
const did = [];
/** What was taken back from this page, newest last: the list, and the revisions that the undos made. */
const undone = [];
/** The revisions that a request made, by its answer. */
const madeBy = new WeakMap();
let silence;

/** Why something was not done. */
export class Refusal extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** Somebody changed the task since it was read. */
export class Conflict extends Refusal {
  constructor({ message, hint, current }, tag) {
    super(message, hint);
    Object.assign(this, { current, tag });
  }
}

const part = encodeURIComponent;
export function ofList(rest = "") {
  const { list } = here();
  if (!list) throw new Refusal("Choose a list first");
  return `/lists/${part(list)}${rest}`;
}
export const ofTask = (id, rest = "") => ofList(`/tasks/${part(id)}${rest}`);

/** Calls an operation of the API. */
export async function call(method, path, body) {
  return (await callWithTag(method, path, body)).read;
}

/** Reads something. It asks until the server answers or the signal is given; then it throws. */
export async function lookUp(path, signal) {
  return (await callWithTag("GET", path, undefined, { signal, again: UNTIL_ANSWERED })).read;
}

/** Reads a task, with the tag that says which state of it this is. */
export async function readTask(id) {
  const path = ofTask(id);
  const { read, tag } = await callWithTag("GET", path);
  return { path, task: read.task, tag };
}

/**
 * Changes fields of a task as it was read. Where somebody changed it meanwhile, and not what `differs` compares, the change is made all the same;
 * else it throws the conflict.
 */
export async function changeRead({ path, task, tag }, fields, differs) {
  for (;;) {
    try {
      return await callWithTag("PATCH", path, fields, { expected: tag });
    } catch (error) {
      if (!(error instanceof Conflict) || differs(task, error.current)) throw error;
      ({ tag } = error);
    }
  }
}

/** The changes whose answers are still to come. */
const changing = new Set();

async function callWithTag(method, ...request) {
  const answer = ask(method, ...request);
  if (method === "GET") return answer;
  changing.add(answer);
  try {
    return await answer;
  } finally {
    changing.delete(answer);
  }
}

/** Returns once every change is answered, and what it made is known: what was done a moment ago is what is taken back. */
async function allAnswered() {
  if (!changing.size) return;
  await Promise.allSettled(changing);
  await new Promise((resolve) => setTimeout(resolve));
}

async function ask(method, path, body, { expected, signal, again = AGAIN } = {}) {
  // Sent again after an answer was lost, it is not done again.
  const how = { method, signal, headers: { ...proof(), "idempotency-key": Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-") } };
  if (expected) how.headers["if-match"] = expected;
  if (body !== undefined) {
    how.body = JSON.stringify(body);
    how.headers["content-type"] = "application/json";
  }
  const got = await fetchAgain(`${base}/api/v1${path}`, how, again).catch(() => null);
  if (!got) throw new Refusal("The server does not answer", "your last action may be lost: check when it is back");
  const { answer } = got;
  let read = {};
  try {
    read = JSON.parse(got.text);
  } catch {
    // Something between us and the server answered.
  }
  const tag = answer.headers.get("etag");
  if (answer.ok && !read.error) {
    madeBy.set(read, numbersIn(answer.headers.get("taskyard-revision")));
    return { read, tag };
  }
  if (answer.status === 412 && read.error?.current) throw new Conflict(read.error, tag);
  if (read.error?.code === "page_unproved") warn(`This browser may only look: it no longer has what proves that a change comes from this page. ${read.error.hint}.`);
  if (read.error) throw new Refusal(read.error.message, read.error.hint);
  throw new Refusal(`The server answers with ${answer.status}`);
}

const numbersIn = (text) => (text ? text.split(",").map(Number) : []);

/** Returns the revisions that requests made, by what was answered to them, oldest first. */
const madeRevisions = (answers) => [answers].flat().flatMap((answer) => madeBy.get(answer?.read ?? answer) ?? []);

/** Says something for a while; the revisions that were made in a list can be taken back from there, and no others. */
export function say(words, made = [], { list } = here()) {
  clearTimeout(silence);
  said.textContent = words;
  if (made.length) said.append(button("Undo", () => takeBackMade({ list, made })));
  silence = setTimeout(() => (said.textContent = ""), 6000);
}

/** Says what was done, by the answers of the API: the revisions that they made can be taken back. */
export function sayDone(words, answers, { list } = here()) {
  const made = madeRevisions(answers);
  if (made.length) did.push({ list, made });
  say(words, made, { list });
}

/** Says beside a thing why something was not done with it. */
export function refuse(error, ids = []) {
  const id = ids[0];
  const beside = (id && (document.getElementById(`card-${id}`) ?? document.querySelector(`#row-${CSS.escape(id)} td.subject`) ?? besideOpen(id))) || null;
  forgetRefusals();
  if (!beside) {
    say(`${error.message}${error.hint ? `: ${error.hint}` : ""}`);
    // It stays until it was read.
    clearTimeout(silence);
    return said.append(button("Dismiss", () => (said.textContent = "")));
  }
  const told = document.createElement("p");
  told.className = "refused";
  told.dataset.keep = "";
  told.setAttribute("role", "alert");
  told.textContent = `▲ ${error.message}`;
  if (error.hint) {
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = error.hint;
    told.append(hint);
  }
  beside.append(told);
  told.scrollIntoView({ block: "nearest" });
}

function besideOpen(id) {
  const open = document.getElementById("task");
  return open.dataset.task === id && !open.hidden ? open.querySelector("h2") : null;
}

export function forgetRefusals() {
  document.querySelectorAll(".refused").forEach((told) => told.remove());
}

/**
 * Makes a request that changes tasks and shows the result. Returns the answer, or undefined if the request was refused. What it did, by the answers
 * of the API that it returns, can be taken back in `list`; with `shows: false` nothing is drawn anew.
 */
export async function attempt(words, ids, does, { undo = true, shows = true, list = here().list } = {}) {
  forgetRefusals();
  try {
    const answer = await does();
    const text = typeof words === "function" ? words(answer) : words;
    if (text) undo ? sayDone(text, answer, { list }) : say(text);
    if (shows) refresh(["truth", "view", "task", "agents"]);
    return answer;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refuse(error, ids);
  }
}

/** What is said if something is to be done and no task is meant. */
export const NO_TASK = "No task is under the cursor: j and k move it";
export const numbers = (ids) => (ids.length > 4 ? `${ids.length} tasks` : ids.map((id) => `#${id}`).join(", "));

/** Makes a move with one task or several, all or none. */
export function move(name, words, ids, body = {}) {
  if (!ids.length) return say(NO_TASK);
  const does = () => (ids.length === 1 ? call("POST", ofTask(ids[0], `/${name}`), body) : call("POST", ofList(`/${name}`), { ids, ...body }));
  return attempt(`${words} ${numbers(ids)}`, ids, does);
}

/** Changes fields of one task or several, all or none. */
export function change(words, ids, fields) {
  const does = () => (ids.length === 1 ? call("PATCH", ofTask(ids[0]), fields) : call("PATCH", ofList("/tasks"), { ids, ...fields }));
  return attempt(words, ids, does);
}

/** Makes tasks wait for another one, all or none. If one of them cannot, the refusal says of each why. */
export async function addBlocker(ids, on) {
  const fields = { addBlockedBy: [on] };
  if (ids.length === 1) return call("PATCH", ofTask(ids[0]), fields);
  try {
    return await call("PATCH", ofList("/tasks"), { ids, ...fields });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const why = (id) => call("PATCH", ofTask(id), { ...fields, dryRun: true }).then(() => "", (refusal) => `#${id}: ${refusal.message}`);
    const reasons = (await Promise.all(ids.map(why))).filter(Boolean);
    throw reasons.length ? new Refusal(`Nothing was changed. ${reasons.join("; ")}`, error.hint) : error;
  }
}

/** Says of which task others wait now. */
export const waitsNow = (ids, on) => `${numbers(ids)} ${ids.length === 1 ? "waits" : "wait"} for #${on} now`;

export function waitFor(ids, on) {
  return attempt(waitsNow(ids, on), ids, () => addBlocker(ids, on));
}

/** Puts tasks in a column. */
export function putIn(status, ids) {
  switch (status) {
    case "in_progress": return move("start", "Started", ids);
    case "completed": return move("done", "Done:", ids);
    default: return move("reopen", "Put back", ids);
  }
}

/** Takes back a revision of any actor, or a range of revisions. */
export function takeBack(revision, last) {
  const body = { revision: Number(revision) };
  if (last !== undefined) body.last = Number(last);
  return undo(here().list, [body]);
}

/** Takes back what was done last from this page, and when there is nothing left of that, the newest change of the person who acts. */
export async function takeBackOwn() {
  const { list } = here();
  await allAnswered();
  const newest = did.findLast((one) => one.list === list);
  return newest ? takeBackMade(newest) : undo(list, [{ mine: true }]);
}

function takeBackMade({ list, made }) {
  const at = did.findIndex((one) => one.list === list && one.made[0] === made[0]);
  if (at >= 0) did.splice(at, 1);
  return undo(list, made.toReversed().map((revision) => ({ revision })));
}

function undo(list, bodies) {
  const does = async () => {
    const answers = [];
    for (const body of bodies) {
      const answer = await call("POST", `/lists/${part(list)}/undo`, body);
      undone.push({ list, revision: answer.revision });
      answers.push(answer);
    }
    return answers;
  };
  const whose = ({ undone: revisions = [], actors = [] }) => revisions.map((one, at) => `r${one} by ${actors[at]}`);
  return attempt((answers) => `Undid ${answers.flatMap(whose).join(", ")}`, [], does, { undo: false });
}

export async function redo() {
  await allAnswered();
  const at = undone.findLastIndex((one) => one.list === here().list);
  if (at < 0) return say("Nothing to redo here");
  const [{ revision }] = undone.splice(at, 1);
  return attempt("Done again", [], () => call("POST", ofList("/undo"), { revision }), { undo: false });
}
