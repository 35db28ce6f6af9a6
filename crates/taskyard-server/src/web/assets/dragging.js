// Dragging cards with the pointer: into another column; by the handle at the right edge, or with Alt held, onto another card, for which the first
// then waits.

import { change, numbers, putIn, waitFor } from "./acts.js";
import { selectedOr } from "./cursor.js";

const FAR = 6;
const CARD = ".columns .card";
let drag = null;

/** The one handle, at the card that the pointer is over. */
const handle = document.createElement("span");
Object.assign(handle, { className: "handle", textContent: "⇠", title: "Drag onto the task that this one waits for" });
handle.dataset.keep = "";
handle.setAttribute("aria-hidden", "true");
const mayDrag = ({ pointerType }) => pointerType !== "touch" && document.documentElement.dataset.scope !== "read";

addEventListener("pointerover", (event) => {
  const card = drag || !mayDrag(event) ? null : event.target.closest?.(CARD);
  if (card && handle.parentElement !== card) card.append(handle);
});

addEventListener("pointerdown", (event) => {
  const card = event.target.closest?.(CARD);
  // A finger scrolls; the task itself has the same moves as buttons.
  if (!card || !mayDrag(event) || event.button !== 0 || event.target.closest("input, button, .refused")) return;
  const box = card.getBoundingClientRect();
  drag = { card, binds: event.target === handle, x: event.clientX, y: event.clientY, inside: [event.clientX - box.left, event.clientY - box.top], width: box.width };
});

addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (!drag.ghost) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < FAR) return;
    begin();
  }
  event.preventDefault();
  drag.ghost.style.translate = `${event.clientX - drag.inside[0]}px ${event.clientY - drag.inside[1]}px`;
  drag.word.style.translate = `${event.clientX + 14}px ${event.clientY + 18}px`;
  aim(event);
});

addEventListener("pointerup", () => {
  const done = drag;
  end();
  if (!done?.ghost) return;
  // The click that follows would open the card.
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
  const ids = selectedOr(done.card.dataset.task);
  if (done.on) waitFor(ids.filter((id) => id !== done.on), done.on);
  else drop(done, ids);
});

/** Puts tasks where they were dropped: into the column, and into the lane. */
async function drop({ card, status, lane }, ids) {
  const from = card.closest(".columns").dataset;
  if (lane && lane.value !== from.value) {
    const { lane: field, value } = lane;
    const fields = field === "tag" ? { addTags: value ? [value] : [], removeTags: from.value ? [from.value] : [] } : value || field === "owner" ? { [field]: value } : { metadata: { [field]: null } };
    if (!(await change(`${numbers(ids)}: ${field} ${value || "none"}`, ids, fields))) return;
  }
  if (status && status !== card.dataset.status) putIn(status, ids);
}

addEventListener("pointercancel", end);
addEventListener("keydown", (event) => event.key === "Escape" && drag?.ghost && (event.stopPropagation(), end()), true);

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}

function begin() {
  getSelection().removeAllRanges();
  drag.ghost = drag.card.cloneNode(true);
  drag.ghost.removeAttribute("id");
  drag.ghost.querySelector(".handle")?.remove();
  drag.ghost.classList.add("ghost");
  drag.ghost.style.cssText = `left:0;top:0;width:${drag.width}px`;
  drag.word = document.createElement("p");
  drag.word.className = "ghost-word";
  drag.word.style.cssText = "left:0;top:0";
  document.body.append(drag.ghost, drag.word);
  drag.card.classList.add("is-dragged");
}

/** Finds out what it would be dropped on, and says what would come of it. */
function aim(event) {
  document.querySelectorAll(".is-target").forEach((target) => target.classList.remove("is-target"));
  const under = document.elementFromPoint(event.clientX, event.clientY);
  const card = under?.closest(CARD);
  const column = under?.closest(".column");
  const binds = drag.binds || event.altKey;
  drag.on = binds && card && card !== drag.card ? card.dataset.task : null;
  drag.status = binds ? null : (column?.dataset.status ?? null);
  drag.lane = binds ? null : (column?.closest(".columns[data-lane]")?.dataset ?? null);
  const moves = drag.status && (drag.status !== drag.card.dataset.status || (drag.lane && drag.lane.value !== drag.card.closest(".columns").dataset.value));
  (drag.on ? card : moves ? column : null)?.classList.add("is-target");
  const name = { pending: "Pending", in_progress: "In progress", completed: "Done" }[drag.status];
  drag.word.textContent = drag.on ? `#${drag.card.dataset.task} waits for #${drag.on}` : moves ? name : "";
  drag.word.hidden = !drag.word.textContent;
}

function end() {
  drag?.ghost?.remove();
  drag?.word?.remove();
  drag?.card.classList.remove("is-dragged");
  document.querySelectorAll(".is-target").forEach((target) => target.classList.remove("is-target"));
  drag = null;
}
