// What people typed and have not sent or saved yet: kept in this tab for what it was typed for, so that it is there when they come back to it, and
// never stands anywhere else.

import { button, whenDrawn } from "./parts.js";
import { base } from "./server.js";

const nameOf = (target) => `taskyard-draft${base} ${target}`;

/** Returns what was typed for a target and not sent; null if that is nothing. */
export function draftOf(target) {
  return JSON.parse(sessionStorage.getItem(nameOf(target)));
}

/** Keeps what was typed for a target; nothing is kept of an empty draft. */
export function keepDraft(target, draft) {
  if (draft) sessionStorage.setItem(nameOf(target), JSON.stringify(draft));
  else sessionStorage.removeItem(nameOf(target));
}

/** Forgets all drafts: somebody else may use this browser next. */
export function forgetDrafts() {
  sessionStorage.clear();
}

/** Asks whether what was typed in `field` may be thrown away; the question stands at the end of `around`. */
export function askToDiscard(around, field, discard) {
  if (around.querySelector(".discard")) return;
  const asked = document.createElement("p");
  asked.className = "discard";
  asked.setAttribute("role", "alert");
  const keep = () => {
    asked.remove();
    field.focus();
  };
  asked.append("Discard what you typed? ", button("Discard", discard), button("Keep it", keep));
  asked.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    keep();
  });
  around.append(asked);
  asked.querySelector("button").focus();
}

// Fields that the server draws say what they are for.
document.addEventListener("input", ({ target }) => target.dataset?.draft && keepDraft(target.dataset.draft, target.value));

function offer() {
  for (const field of document.querySelectorAll("[data-draft]")) field.value ||= draftOf(field.dataset.draft) ?? "";
}
offer();
whenDrawn(offer);
