import assert from "node:assert/strict";
import test from "node:test";
import { answering, happens, json, requests, until } from "./page.js";

const { tasksEverywhere, tasksLike } = await import("./looking.js");
const found = { tasks: [{ id: "3" }], hits: [{ list: "boat" }] };

test("a lookup is asked for again until the server answers", async () => {
  requests.length = 0;
  answering(() => json(requests.length > 6 ? found : { error: { code: "io", message: "busy" } }, { status: requests.length > 6 ? 200 : 503 }));
  const asked = tasksEverywhere("sails", 10);
  while (requests.length <= 6) {
    const before = requests.length;
    await until(() => (happens("online"), requests.length > before));
  }
  assert.deepEqual(await asked, [{ task: { id: "3" }, list: "boat" }]);
});

test("a new lookup ends the one before, and a mistake is not asked for again", async () => {
  requests.length = 0;
  answering(() => {
    throw new Error("cut");
  });
  const first = tasksLike("sa", 10);
  await until(() => requests.length > 0);
  answering(() => json({ error: { code: "usage", message: "no such key" } }, { status: 400 }));
  const second = tasksLike("x:", 10);
  assert.deepEqual([await first, await second], [[], []]);
  const sent = requests.length;
  happens("online");
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(requests.length, sent);
});

test("words are sought as they are, though a query means something else by them", async () => {
  answering(() => json(found));
  requests.length = 0;
  await tasksEverywhere("to be done", 10);
  await tasksLike("due: (x", 10);
  const asked = requests.map(({ address }) => new URL(address, "http://a.example").searchParams.get("query"));
  assert.deepEqual(asked, ['"to" "be" "done"', '"due:" "(x"']);
});
