// What jobs write, as they write it, and times that pass.

import { call } from "./acts.js";
import { refresh } from "./parts.js";

const OFTEN = 700;
const NEAR_THE_END = 40;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/** Begins to look. */
export function keepUp() {
  setInterval(() => document.hidden || document.querySelectorAll("pre.tail[data-runs]").forEach(grow), OFTEN);
  setInterval(passTime, 5000);
}

async function grow(tail) {
  if (tail.isAsking) return;
  tail.isAsking = true;
  try {
    const from = tail.dataset.next;
    const { output, nextOffset, job } = await call("GET", `/jobs/${encodeURIComponent(tail.dataset.job)}/output?offset=${from}`);
    // Drawn anew meanwhile, it has more already.
    if (tail.dataset.next !== from) return;
    const isAtEnd = endIsSeen(tail);
    if (output) tail.append(...shown(output));
    tail.dataset.next = nextOffset;
    if (isAtEnd) tail.scrollTop = tail.scrollHeight;
    if (["completed", "failed", "killed", "lost"].includes(job.status)) {
      tail.removeAttribute("data-runs");
      refresh(["views", "truth", "view", "task"]);
    }
  } catch {
    // The follower of the stream says that the server is gone.
  } finally {
    tail.isAsking = false;
  }
}

const COLOURS = ["", "in-red", "in-green", "in-yellow", "in-blue", "in-purple", "in-cyan", ""];
const unseen = (text) => text.replace(/[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");

/** Returns the pieces of what a program wrote, with their colours as classes and without what else steers a terminal. */
function shown(text) {
  const all = [];
  let [colour, weight] = ["", ""];
  for (const [at, piece] of text.split(/\x1b\[([0-9;?:]*)([A-Za-z])/).entries()) {
    // Texts, and after each of them the codes and the letter of a sequence.
    if (at % 3 === 0 && piece) {
      const classes = [colour, weight].filter(Boolean).join(" ");
      all.push(classes ? Object.assign(document.createElement("span"), { className: `ansi ${classes}`, textContent: unseen(piece) }) : unseen(piece));
    } else if (at % 3 === 1 && !/[34]8;/.test(piece)) {
      for (const code of piece.split(";").map(Number)) {
        if (code === 0) [colour, weight] = ["", ""];
        else if (code === 1) weight = "strong";
        else if (code === 2) weight = "dim";
        else if ((code >= 30 && code < 38) || (code >= 90 && code < 98)) colour = COLOURS[code % 10];
        else if (code === 39) colour = "";
      }
    }
  }
  return all;
}

const endIsSeen = (tail) => tail.scrollTop + tail.clientHeight > tail.scrollHeight - NEAR_THE_END;
document.addEventListener("scroll", ({ target }) => target.matches?.("pre.tail") && (target.isLeft = !endIsSeen(target)), true);

/** Scrolls the output of jobs to its end, unless somebody scrolled away from there. */
export function showEnds() {
  for (const tail of document.querySelectorAll("pre.tail")) {
    if (!tail.isLeft) tail.scrollTop = tail.scrollHeight;
  }
}

function span(time) {
  if (time < MINUTE) return `${Math.floor(Math.max(0, time) / 1000)} s`;
  if (time < HOUR) return `${Math.floor(time / MINUTE)} min`;
  if (time < DAY) return `${Math.floor(time / HOUR)} h`;
  const days = Math.floor(time / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

/** Moves the times on that the page shows. */
function passTime() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[data-age], time[data-since]")) {
    const age = now - Date.parse(time.dateTime);
    if (time.hasAttribute("data-since")) time.textContent = span(age);
    else if (age < DAY) time.textContent = age < MINUTE ? "just now" : `${span(age)} ago`;
  }
}
