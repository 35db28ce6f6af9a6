import assert from "node:assert/strict";
import test from "node:test";
import { shownDescription, shownSubject, typedDescription, typedSubject } from "./texts.js";

const titled = (subject) => ({ id: "5", subject });

test("only the marks of a kind are left out of a subject", () => {
  for (const [stored, shown] of [
    ["\x1b[2m  #5\x1b[22m \x1b[2m[^#67]\x1b[22m \u{1f4cb} Phase", "[^#67] \u{1f4cb} Phase"],
    ["\x1b[2m#5\x1b[0m Fix", "Fix"],
    ["\x1b[2m#6\x1b[0m Fix", "\\x1b[2m#6\\x1b[0m Fix"],
    ["\x1b[2m#5\x1b[0m a \x1b[2mb\x1b[22m", "a \\x1b[2mb\\x1b[22m"],
    ["one\ntwo\u{9b}2m\u{202e}", "one\\ntwo\\x9b2m\\u{202e}"],
    ["#5 plain \\x1b", "#5 plain \\x1b"],
  ]) {
    assert.equal(shownSubject(titled(stored)), shown);
  }
});

test("an edited subject keeps the characters that were escaped", () => {
  const task = titled("\x1b[2m#5\x1b[0m a\x1b[31mb\u{202e}\n");
  assert.equal(typedSubject(task, "new a\\x1b[31mb\\u{202e}\\n"), "new a\x1b[31mb\u{202e}\n");
  assert.equal(typedSubject(titled("plain"), "about \\x1b"), "about \\x1b");
});

test("the block of facts stays below an edited description", () => {
  const block = '<macf_task_metadata version="1">\ncreated: today\n</macf_task_metadata>';
  const task = { description: `Before.\n\n${block}` };
  assert.equal(shownDescription(task), "Before.");
  assert.equal(typedDescription(task, "After.\n"), `After.\n\n${block}`);
  assert.equal(typedDescription(task, ""), block);
  assert.equal(typedDescription({ description: "Before." }, "After.\n"), "After.\n");
});
