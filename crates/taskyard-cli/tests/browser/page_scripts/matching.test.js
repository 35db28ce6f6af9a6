import assert from "node:assert/strict";
import test from "node:test";

const { ranked, score } = await import("./matching.js");

test("words are found in any order, in part and with a slip", () => {
  for (const typed of ["write parser", "parser write", "pars", "wirte parser", "prser"]) assert.ok(score(typed, "#3 Write the parser"), typed);
  for (const typed of ["write lexer", "xyz", "parser docs"]) assert.equal(score(typed, "#3 Write the parser"), 0, typed);
});

test("what is like the words most comes first", () => {
  const items = ["Show columns", "Column of smoke", "Colour the columns", "columns"];
  assert.equal(ranked("columns", items, (item) => item)[0], "columns");
  assert.deepEqual(ranked("", items, (item) => item), items);
  assert.deepEqual(ranked("priority high", ["Priority low", "High tide", "Priority high, for #3"], (item) => item), ["Priority high, for #3"]);
});
