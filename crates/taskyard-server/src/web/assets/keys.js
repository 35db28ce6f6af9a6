// The keyboard: which key does what. What is done is found in deeds.js.

import { perform } from "./deeds.js";

const KEYS = {
  j: "down", k: "up", h: "left", l: "right", ArrowDown: "down", ArrowUp: "up", ArrowLeft: "left", ArrowRight: "right", c: "create", p: "create-part", e: "edit", E: "edit-all", n: "note", s: "start", d: "done", o: "reopen",
  C: "cancel", t: "claim", r: "release", a: "assign", b: "blocked-by", B: "unblock-pick", "<": "move-left", ">": "move-right", x: "select",
  X: "select-none", Delete: "delete", P: "set-priority", T: "set-tags", D: "set-due", m: "menu", f: "focus", "/": "filter", u: "undo", U: "redo", ":": "palette", "!": "next-need", "?": "help", Escape: "close",
  "+": "zoom-in", "=": "zoom-in", "-": "zoom-out",
};
const VIEWS = { l: "table", c: "columns", g: "graph", h: "history", t: "charts", a: "agents", j: "jobs", m: "messages", s: "lists" };
const PATIENCE = 1500;
let prefixed = 0;

export function setUpKeys() {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return perform("palette");
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (document.querySelector("dialog[open]")) return;
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    if (Date.now() < prefixed) {
      prefixed = 0;
      if (VIEWS[event.key]) {
        event.preventDefault();
        return perform(`show-${VIEWS[event.key]}`);
      }
    }
    if (event.key === "g") return void (prefixed = Date.now() + PATIENCE);
    const act = KEYS[event.key];
    // Arrows scroll what has the focus and can be scrolled.
    if (!act || (event.key.startsWith("Arrow") && event.target.closest?.("pre, #task"))) return;
    event.preventDefault();
    perform(act);
  });
}
