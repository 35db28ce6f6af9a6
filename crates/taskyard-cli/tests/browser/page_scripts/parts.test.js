import assert from "node:assert/strict";
import test from "node:test";
import { Element, answering, goTo, place, requests, until } from "./page.js";

globalThis.DOMParser = class {
  parseFromString = (text) => ({ body: { children: JSON.parse(text).map(([name, id, words]) => new Element(name, { id }, [words])) } });
};
const { go, morph, refresh, whenDrawn } = await import("./parts.js");
const element = (attributes, children) => new Element("div", attributes, children);

test("what scripts added to an element stays, and the rest becomes what the server says", () => {
  const old = place(element({ class: "card is-cursor old", "data-status": "pending", title: "x" }));
  morph(old, element({ class: "card new", "data-status": "completed" }));
  assert.equal(old.getAttribute("class"), "card new is-cursor");
  assert.equal(old.dataset.status, "completed");
  assert.equal(old.hasAttribute("title"), false);
});

test("a field in which somebody types keeps what is typed", () => {
  const [field, other] = [place(new Element("input", { value: "a" })), place(new Element("input", { value: "a" }))];
  field.focus();
  [field.value, other.value] = ["typing", "typed before"];
  for (const one of [field, other]) morph(one, new Element("input", { value: "b" }));
  assert.deepEqual([field.value, other.value], ["typing", "b"]);
});

test("an editor and what an element holds are not touched", () => {
  const editor = place(element({ "data-editing": "", title: "a" }, ["typing"]));
  morph(editor, element({ title: "b" }, ["stored"]));
  assert.deepEqual([editor.getAttribute("title"), editor.textContent], ["a", "typing"]);
  const picture = place(element({ "data-holds": "viewBox", viewBox: "1 1 1 1" }));
  morph(picture, element({ viewBox: "0 0 9 9" }));
  assert.equal(picture.getAttribute("viewBox"), "1 1 1 1");
});

test("things with a name move to their new places and stay themselves", () => {
  const kept = element({ "data-keep": "" }, ["refused"]);
  const list = place(element({}, [element({ id: "a" }, ["A"]), element({ id: "b" }, ["B"]), kept, element({ id: "c" }, ["C"])]));
  const [a, b] = list.children;
  morph(list, element({}, [element({ id: "b" }, ["B2"]), element({ id: "d" }, ["D"]), element({ id: "a" }, ["A"])]));
  assert.deepEqual(list.children.filter((child) => child.id).map((child) => child.textContent), ["B2", "D", "A"]);
  assert.deepEqual([list.find("a"), list.find("b")], [a, b]);
  assert.ok(list.contains(kept));
});

test("what belongs to another task is not reused for the next", () => {
  const list = place(element({}, [element({ id: "pane", "data-key": "L/1" }, ["one"])]));
  const [before] = list.children;
  morph(list, element({}, [element({ id: "pane", "data-key": "L/2" }, ["two"])]));
  assert.notEqual(list.children[0], before);
  assert.equal(list.textContent, "two");
});

test("parts that are asked for meanwhile are asked for together", async () => {
  const answers = [];
  requests.length = 0;
  answering(() => new Promise((resolve) => answers.push(resolve)));
  let drawn = 0;
  whenDrawn(() => drawn++);
  const done = refresh(["view"]);
  refresh(["task"]);
  refresh(["truth", "task"]);
  await until(() => answers.length === 1);
  answers[0](new Response("[]"));
  await until(() => answers.length === 2);
  answers[1](new Response("[]"));
  await done;
  assert.deepEqual(requests.map(({ how }) => how.headers["taskyard-parts"]), ["view", "task,truth"]);
  assert.equal(drawn, 2);
});

test("what was asked for another address is not drawn for this one", async () => {
  place(element({ id: "view" }, ["before"]));
  requests.length = 0;
  const answers = [];
  answering((address, { signal }) => new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    answers.push(resolve);
  }));
  goTo("/lists/L");
  refresh(["view"]);
  await until(() => answers.length === 1);
  const done = go("/lists/M", { parts: ["view"] });
  await until(() => answers.length === 2);
  answers[0](new Response('[["div", "view", "of L"]]'));
  answers[1](new Response('[["div", "view", "of M"]]'));
  await done;
  assert.deepEqual(requests.map(({ address }) => address), ["/lists/L", "/lists/M"]);
  assert.equal(document.getElementById("view").textContent, "of M");
});
