import assert from "node:assert/strict";
import test from "node:test";
import { Element, goTo, place } from "./page.js";

const { current, cursorTo, select, selectNone, selectThese, selectedOr, targets } = await import("./cursor.js");
const views = document.getElementById("views");
const task = document.getElementById("task");
const rows = place(new Element("tbody", { id: "rows" }));

/** Shows these tasks as the rows of a table. */
function show(...ids) {
  rows.childNodes = [];
  rows.append(...ids.map((id) => new Element("tr", { "data-task": id })));
  document.querySelectorAll = (selector) => (selector.includes("tr[data-task]") ? rows.children : []);
}
document.querySelector = () => null;

test("the selected tasks are meant, else the one under the cursor, else the open one", () => {
  show("1", "2", "3");
  assert.deepEqual(targets(), []);
  [task.dataset.task, task.hidden] = ["9", false];
  assert.deepEqual(targets(), ["9"]);
  cursorTo("2");
  assert.deepEqual(targets(), ["2"]);
  withBar(() => selectThese(["1", "3"]));
  assert.deepEqual(targets(), ["1", "3"]);
  assert.deepEqual([selectedOr("3"), selectedOr("2")], [["1", "3"], ["2"]]);
  withBar(selectNone);
  assert.deepEqual(targets(), ["2"]);
});

test("a button beside the open task means that task, whatever is selected", () => {
  withBar(() => select("1"));
  const button = new Element("button");
  button.closest = (selector) => (selector === "#task" ? task : null);
  assert.deepEqual(targets(button), ["9"]);
  withBar(selectNone);
});

test("a selection ends with the list, the view or the query it was made on", () => {
  for (const leave of [() => (views.dataset.list = "M"), () => (views.dataset.view = "columns"), () => goTo("/lists/L?q=tag:x")]) {
    withBar(() => select("1"));
    assert.deepEqual(selectedOr("1"), ["1"]);
    withBar(() => select("2"));
    assert.equal(selectedOr("1").length, 2);
    leave();
    assert.deepEqual(selectedOr("1"), ["1"]);
  }
});

test("the cursor belongs to its list", () => {
  views.dataset.list = "L";
  cursorTo("2");
  assert.equal(current(), "2");
  views.dataset.list = "M";
  assert.equal(current(), "9");
});

/** Runs something that draws the bar of the selection: its buttons are found by what they do. */
function withBar(does) {
  const create = document.createElement;
  document.createElement = (name) => {
    const made = create(name);
    made.querySelector = () => made.children.find((child) => child.dataset.act === "select-every") ?? null;
    return made;
  };
  does();
  document.createElement = create;
}
