import assert from "node:assert/strict";
import test, { mock } from "node:test";
import "./page.js";

const sources = [];
const told = [];
globalThis.BroadcastChannel = class {
  constructor() {
    globalThis.channel = this;
  }
  postMessage(news) {
    told.push(news);
  }
};
globalThis.EventSource = class {
  static CLOSED = 2;
  listeners = {};
  readyState = 1;
  constructor(address) {
    this.address = address;
    sources.push(this);
  }
  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }
  close() {}
};
let getsLock;
const navigator = { locks: { request: (name, held) => void (getsLock = held) } };
Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });

const { follow } = await import("./live.js");
const heard = [];
follow((news) => heard.push(news));
const names = () => heard.splice(0).map(({ name }) => name);
const other = (data) => channel.onmessage({ data });

test("a tab that comes asks the one with the stream what was missed", () => {
  const [{ name, from }] = told.splice(0);
  assert.equal(name, "ask");
  other({ name: "standing", to: "somebody else", id: "5.a.9" });
  assert.deepEqual(names(), []);
  // The page was drawn after event 7.
  other({ name: "standing", to: from, id: "5.a.7" });
  other({ name: "standing", to: from, id: "5.a.8" });
  other({ name: "standing", to: from, id: "6.b.1" });
  assert.deepEqual(names(), ["resumed", "standing", "standing"]);
});

test("a tab without the stream hears what another tells, and does not answer", () => {
  other({ name: "commit", id: "5.a.11", data: { list: "L" } });
  other({ name: "ask", from: "third" });
  assert.deepEqual([names(), told], [["commit"], []]);
  assert.equal(sources.length, 0);
});

test("the tab that gets the lock resumes the stream and tells the others", () => {
  getsLock();
  assert.equal(sources[0].address, "/yard/api/v1/events?since=5.a.11");
  sources[0].listeners.commit({ lastEventId: "5.a.12", data: '{"list":"L"}' });
  assert.deepEqual(told.splice(0), [{ name: "commit", id: "5.a.12", data: { list: "L" } }]);
  assert.deepEqual(names(), ["commit"]);
  other({ name: "ask", from: "third" });
  assert.deepEqual(told.splice(0), [{ name: "standing", to: "third", id: "5.a.12" }]);
});

test("a broken stream is said once, and one that was refused is asked for again", () => {
  mock.timers.enable();
  sources[0].onerror();
  sources[0].readyState = EventSource.CLOSED;
  sources[0].onerror();
  assert.deepEqual(names(), ["gone"]);
  mock.timers.tick(1000);
  assert.equal(sources.at(-1).address, "/yard/api/v1/events?since=5.a.12");
  sources.at(-1).onopen();
  assert.deepEqual(names(), ["back"]);
  assert.deepEqual(told.map(({ name }) => name), ["gone", "back"]);
});
