import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { answering, json, requests, until } from "./page.js";

const { Conflict, Refusal, addBlocker, call, changeRead, move, readTask, redo, takeBackOwn } = await import("./acts.js");
const { keepSecret, forgetSecret } = await import("./server.js");
const said = document.getElementById("said");
const sent = () => requests.filter(({ address }) => address.includes("/api/"));
const bodies = () => sent().map(({ how }) => how.body && JSON.parse(how.body));

/** Answers calls of the API; the parts of the page are asked for in vain. */
const api = (how) => answering((address, request) => (address.includes("/api/") ? how(address, request) : new Promise(() => {})));
const refusal = (status, error, headers) => json({ error }, { status, headers });

beforeEach(() => void (requests.length = 0));

test("a request carries the proof of this page and a key of its own", async () => {
  api(() => json({ ok: true }));
  keepSecret("s3cret");
  await call("POST", "/messages", { text: "hi" });
  forgetSecret();
  await call("GET", "/lists");
  const [one, two] = sent();
  assert.equal(one.address, "/yard/api/v1/messages");
  assert.equal(one.how.headers["taskyard-page"], "s3cret");
  assert.equal(one.how.headers["content-type"], "application/json");
  assert.equal(two.how.headers["taskyard-page"], undefined);
  assert.notEqual(one.how.headers["idempotency-key"], two.how.headers["idempotency-key"]);
});

test("a request that is sent again has the key it had", async () => {
  const { happens, until } = await import("./page.js");
  api(() => (requests.length < 2 ? new Response("", { status: 503 }) : json({})));
  const got = call("POST", "/x", {});
  await until(() => requests.length === 1);
  await until(() => (happens("online"), requests.length === 2));
  await got;
  const keys = sent().map(({ how }) => how.headers["idempotency-key"]);
  assert.equal(keys[0], keys[1]);
});

test("a refusal has its words and what to do next", async () => {
  api(() => refusal(409, { message: "it is blocked", hint: "finish #2" }));
  await assert.rejects(call("POST", "/x", {}), (error) => error instanceof Refusal && error.message === "it is blocked" && error.hint === "finish #2");
  api(() => new Response("<h1>Bad gateway</h1>", { status: 500 }));
  await assert.rejects(call("POST", "/x", {}), /answers with 500/);
});

test("a lost claim is a refusal like any other", async () => {
  const error = { code: "blocked", message: "task 1 cannot be claimed: it waits for #2", hint: "finish #2 first" };
  api(() => json({ claimed: false, reason: "blocked", blockedBy: ["2"], error }, { status: 409 }));
  await assert.rejects(call("POST", "/x", {}), (lost) => lost instanceof Refusal && lost.message === error.message && lost.hint === error.hint);
});

test("a change by somebody else of another field is no conflict", async () => {
  const current = { id: "1", owner: "bo", subject: "A" };
  api((address, { method, headers }) => {
    if (method === "GET") return json({ task: { id: "1", owner: "", subject: "A" } }, { headers: { etag: '"1"' } });
    return headers["if-match"] === '"2"' ? json({ task: current }) : refusal(412, { message: "changed", current }, { etag: '"2"' });
  });
  const differs = (field) => (one, other) => one[field] !== other[field];
  await changeRead(await readTask("1"), { subject: "B" }, differs("subject"));
  assert.deepEqual(sent().slice(1).map(({ how }) => how.headers["if-match"]), ['"1"', '"2"']);
  const conflict = (error) => error instanceof Conflict && error.current.owner === "bo" && error.tag === '"2"';
  await assert.rejects(changeRead(await readTask("1"), { owner: "uma" }, differs("owner")), conflict);
});

test("undo takes back what this page did, newest first, and then asks for one's own", async () => {
  let revision = 10;
  api(() => json({ revision: ++revision, undone: [revision - 2], actors: ["uma"] }, { headers: { "taskyard-revision": "7,8" } }));
  await move("done", "Done:", ["1"]);
  assert.equal(said.textContent, "Done: #1Undo");
  await takeBackOwn();
  await takeBackOwn();
  assert.deepEqual(bodies().slice(1), [{ revision: 8 }, { revision: 7 }, { mine: true }]);
  await redo();
  assert.deepEqual(bodies().at(-1), { revision: 14 });
});

test("what is taken back is what was done last, though its answer is still to come", async () => {
  let answer;
  const made = (revision) => json({ revision, undone: [], actors: [] }, { headers: { "taskyard-revision": String(revision) } });
  api((address) => (address.endsWith("/delete") ? new Promise((resolve) => (answer = () => resolve(made(22)))) : made(21)));
  await move("done", "Done:", ["1"]);
  const deleted = move("delete", "Deleted", ["1", "2"]);
  const tookBack = takeBackOwn();
  await until(() => answer);
  answer();
  await Promise.all([deleted, tookBack]);
  assert.deepEqual(bodies().at(-1), { revision: 22 });
});

test("several tasks are one request, and nothing is done without one", async () => {
  api(() => json({}));
  await move("start", "Started", ["1", "2"]);
  assert.deepEqual([sent()[0].address, bodies()[0]], ["/yard/api/v1/lists/L/start", { ids: ["1", "2"] }]);
  move("start", "Started", []);
  assert.equal(sent().length, 1);
  assert.match(said.textContent, /No task/);
});

test("of several tasks that cannot wait the refusal names each", async () => {
  api((address, { body }) => {
    const { dryRun } = JSON.parse(body);
    if (dryRun && address.endsWith("/2")) return json({});
    return refusal(409, { message: dryRun ? "a cycle" : "none" });
  });
  await assert.rejects(addBlocker(["1", "2", "3"], "9"), { message: "Nothing was changed. #1: a cycle; #3: a cycle" });
});
