import assert from "node:assert/strict";
import test from "node:test";
import { answering, happens, json, requests, until } from "./page.js";

const { fetchAgain, isUpToDate, warn } = await import("./fetching.js");
const gone = document.getElementById("gone");

/** Gives these answers in turn, and says that the network is back until all were asked for. */
async function asked(answers, ...how) {
  requests.length = 0;
  answering(() => {
    const answer = answers[requests.length - 1];
    if (answer instanceof Error) throw answer;
    return json({}, { status: answer });
  });
  const got = fetchAgain("/tasks", ...how);
  for (let seen = 1; seen < answers.length; seen++) {
    await until(() => requests.length >= seen);
    await until(() => (happens("online"), requests.length > seen));
  }
  return got;
}

test("it asks until there is an answer, and says meanwhile that there is none", async () => {
  const { answer } = await asked([new Error("cut"), 503, 429, 504, 200]);
  assert.equal(answer.status, 200);
  assert.equal(gone.hidden, false);
  assert.match(gone.textContent, /does not answer/);
  isUpToDate();
  assert.equal(gone.hidden, true);
});

test("a refusal is an answer", async () => {
  for (const status of [400, 401, 409, 412, 500]) assert.equal((await asked([status])).answer.status, status);
});

test("a request that may be sent three times more is given up after that", async () => {
  assert.equal((await asked([503, 503, 503, 503], {}, 3)).answer.status, 503);
  await assert.rejects(asked([new Error("1"), new Error("2"), new Error("3"), new Error("4")], {}, 3), /4/);
  assert.equal(gone.hidden, true);
});

test("a request that nobody wants any more is not sent again", async () => {
  const control = new AbortController();
  requests.length = 0;
  answering(() => {
    control.abort();
    throw new Error("aborted");
  });
  await assert.rejects(fetchAgain("/tasks", { signal: control.signal }));
  assert.equal(requests.length, 1);
});

test("a warning stays until there is another", () => {
  warn("Not let in");
  assert.equal(gone.hidden, false);
  isUpToDate();
  assert.equal(gone.textContent, "Not let in");
  warn("");
  assert.equal(gone.hidden, true);
});
