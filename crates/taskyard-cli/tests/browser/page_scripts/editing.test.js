import assert from "node:assert/strict";
import test from "node:test";
import { Element, answering, json } from "./page.js";

const { toggleBox } = await import("./editing.js");
const said = document.getElementById("said");
const description = "- [ ] one\n```\n- [ ] code\n```\n> 1. [x] two\n- [ ]three\n* [X] four";

/** Clicks on a box of the open task, whose page shows so many; returns what was sent, or null. */
async function click(number, checked, count) {
  let sent = null;
  answering((address, { method, body }) => {
    if (!address.includes("/api/")) return new Promise(() => {});
    if (method === "GET") return json({ task: { id: "1", description } }, { headers: { etag: '"1"' } });
    sent = JSON.parse(body).description;
    return json({ task: {} });
  });
  const pane = new Element("aside", { "data-task": "1" });
  pane.querySelectorAll = () => Array(count);
  const box = Object.assign(new Element("input", { "data-number": String(number) }), { checked, closest: () => pane });
  await toggleBox(box);
  return { sent, box };
}

test("a box changes its own line, counted without those in code", async () => {
  assert.equal((await click(0, true, 3)).sent, description.replace("- [ ] one", "- [x] one"));
  assert.equal((await click(1, false, 3)).sent, description.replace("[x] two", "[ ] two"));
  assert.equal((await click(2, false, 3)).sent, description.replace("[X] four", "[ ] four"));
});

test("a description with other boxes by now is left alone", async () => {
  const { sent, box } = await click(0, true, 4);
  assert.equal(sent, null);
  assert.equal(box.checked, false);
  assert.match(said.textContent, /checkboxes of the description have changed/);
});
