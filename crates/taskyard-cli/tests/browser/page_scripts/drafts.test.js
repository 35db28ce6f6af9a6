import assert from "node:assert/strict";
import test from "node:test";
import { Element, place } from "./page.js";

const { askToDiscard, draftOf, forgetDrafts, keepDraft } = await import("./drafts.js");

test("a draft is there for what it was typed for, and nowhere else", () => {
  keepDraft("note L/1", "half a note");
  assert.equal(draftOf("note L/1"), "half a note");
  assert.equal(draftOf("note L/2"), null);
  keepDraft("note L/1", "");
  assert.equal(draftOf("note L/1"), null);
});

test("what is typed into a field of the page is kept", () => {
  const field = new Element("textarea", { "data-draft": "note L/3" });
  field.value = "typed";
  for (const hear of document.listeners.get("input")) hear({ target: field });
  assert.equal(draftOf("note L/3"), "typed");
});

test("another person finds no drafts", () => {
  keepDraft("note L/4", "mine");
  forgetDrafts();
  assert.equal(draftOf("note L/4"), null);
});

test("nothing typed is thrown away without a question", () => {
  const [around, field] = [place(new Element("form")), new Element("input")];
  let discarded = 0;
  const question = () => around.children.at(-1);
  around.insertBefore = function (child, next) {
    child.querySelector = () => child.children[0];
    return Element.prototype.insertBefore.call(this, child, next);
  };
  askToDiscard(around, field, () => discarded++);
  const [discard, keep] = question().children;
  assert.equal(document.activeElement, discard);
  keep.onclick();
  assert.deepEqual([discarded, around.children.length, document.activeElement], [0, 0, field]);
  askToDiscard(around, field, () => discarded++);
  question().children[0].onclick();
  assert.equal(discarded, 1);
});
