import assert from "node:assert/strict";
import test from "node:test";
import { Element, answering, json, periodic, until } from "./page.js";

const { keepUp } = await import("./tails.js");
periodic.length = 0;
keepUp();
const [look, passTime] = periodic;

test("ages pass, and what is older than a day keeps the words of the server", () => {
  const now = Date.now();
  const time = (attribute, age) => Object.assign(new Element("time", { [attribute]: "" }, ["as drawn"]), { dateTime: new Date(now - age).toISOString() });
  const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
  const times = [time("data-age", 5_000), time("data-age", 2 * minute), time("data-age", 3 * hour), time("data-age", 2 * day), time("data-since", day), time("data-since", 3 * day), time("data-since", -minute)];
  document.querySelectorAll = () => times;
  passTime();
  assert.deepEqual(times.map((one) => one.textContent), ["just now", "2 min ago", "3 h ago", "as drawn", "1 day", "3 days", "0 s"]);
});

test("output grows from where it was, steers nothing, and ends with its job", async () => {
  const tail = Object.assign(new Element("pre", { "data-job": "b1", "data-next": "3", "data-runs": "" }, ["abc"]), { scrollTop: 0, clientHeight: 10, scrollHeight: 10 });
  document.querySelectorAll = (selector) => (selector.includes("tail") ? [tail] : []);
  let asked;
  answering((address) => {
    if (!address.includes("/output")) return new Promise(() => {});
    asked = address;
    return json({ output: "\x1b[31mred\x1b[0m\u202e\x07\n", nextOffset: 20, job: { status: "completed" } });
  });
  look();
  await until(() => !tail.hasAttribute("data-runs"));
  assert.match(asked, /jobs\/b1\/output\?offset=3$/);
  assert.equal(tail.textContent, "abcred\n");
  assert.equal(tail.dataset.next, "20");
});
