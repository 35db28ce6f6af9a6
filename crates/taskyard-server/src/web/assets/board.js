// The pages at work. The server draws everything; this only asks for parts of it anew, sends what people do, and moves the cursor.
// Without it every page can be read.

import { Refusal, call, refuse } from "./acts.js";
import { setUpFilter } from "./completing.js";
import { selectedOr } from "./cursor.js";
import { forms, perform, useTheme } from "./deeds.js";
import { keepDraft } from "./drafts.js";
import "./dragging.js";
import { isMissing } from "./fetching.js";
import { setUpKeys } from "./keys.js";
import { follow } from "./live.js";
import { go, here, refresh, tryGo, whenDrawn } from "./parts.js";
import { setUpPicture } from "./picture.js";
import { base } from "./server.js";
import { keepUp, showEnds } from "./tails.js";

const SOON = 120;
const PAUSE = 700;
const LISTS_APART = 2000;
let listsAsked = 0;
let listsWait = null;

/** Asks for the lists anew, not too often: every change of every list is heard of here. */
function refreshLists() {
  if (listsWait) return;
  const rest = Math.max(0, listsAsked + LISTS_APART - Date.now());
  listsWait = setTimeout(() => {
    [listsWait, listsAsked] = [null, Date.now()];
    refresh(here().view === "lists" ? ["lists", "view"] : ["lists"]);
  }, rest);
}

follow(({ name, data }) => {
  const is = here();
  switch (name) {
    case "gone":
      isMissing("stream", true);
      break;
    // Nothing was missed.
    case "resumed":
      isMissing("stream", false);
      break;
    // What happened since the page was drawn is told by nobody.
    case "ready":
    case "standing":
    case "back":
    case "reset":
      isMissing("stream", false);
      refresh();
      break;
    case "commit":
      if (data.list === is.list && is.view !== "lists") refresh(["truth", "view", "task", "agents"]);
      refreshLists();
      break;
    case "message":
      refresh(is.view === "messages" ? ["views", "truth", "view"] : ["views", "truth"]);
      break;
    case "job_ended":
      refresh(["views", "truth", "task", ...(is.view === "jobs" ? ["view"] : [])]);
      break;
    case "agent_came":
    case "agent_went":
      refresh(["truth", "agents", ...(["agents", "messages"].includes(is.view) ? ["view"] : [])]);
      break;
    case "list_came":
    case "list_went":
      refreshLists();
      break;
  }
});

// Leases are renewed and jobs begin without an event.
const PERIODS = { jobs: [2000, ["views", "view"]], agents: [5000, ["agents", "view"]] };
let looked = Date.now();
setInterval(() => {
  const [period, parts] = PERIODS[here().view] ?? [15_000, ["truth", "agents", "views"]];
  if (document.hidden || Date.now() - looked < period) return;
  looked = Date.now();
  refresh(parts);
}, 1000);
document.addEventListener("visibilitychange", () => document.hidden || refresh());
addEventListener("online", () => refresh());

addEventListener("popstate", () => refresh(undefined, { quiet: true }));

document.addEventListener("click", (event) => {
  const source = event.target.closest("[data-act]");
  if (source && !(source.tagName === "A" && (event.ctrlKey || event.metaKey))) {
    if (source.type !== "checkbox") event.preventDefault();
    return perform(source.dataset.act, source);
  }
  const link = event.target.closest("a[href]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const to = new URL(link.href?.baseVal ?? link.href, location.href);
  if (to.origin !== location.origin || !to.pathname.startsWith(`${base}/lists`)) return;
  if (to.hash && to.pathname + to.search === location.pathname + location.search) return;
  event.preventDefault();
  const isSameList = to.pathname === location.pathname;
  go(to.pathname + to.search, isSameList ? { parts: ["views", "truth", "view", "task"] } : {}).then(() => {
    if (!isSameList) document.getElementById("view").scrollTo(0, 0);
    if (to.searchParams.get("task") && phone.matches) scrollTo(0, 0);
  });
});

document.addEventListener("taskyard-act", ({ detail }) => perform(detail));

document.addEventListener("dblclick", (event) => {
  if (event.target.closest("#task h2.subject")) perform("edit");
  else if (event.target.closest("#task .prose#description")) perform("describe");
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.id === "filter") {
    event.preventDefault();
    return choose(0);
  }
  if (!form.dataset.form) return;
  event.preventDefault();
  const field = form.elements.text;
  const text = field.value.trim();
  if (!text) return;
  try {
    await forms[form.dataset.form](form, text);
    field.value = "";
    keepDraft(field.dataset.draft, null);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refuse(error, []);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target.id === "note") && !event.shiftKey && event.target.form?.dataset.form) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});

let typed = null;
let completed = null;
let explained = null;
document.addEventListener("input", (event) => {
  if (event.target.id !== "query") return;
  clearTimeout(typed);
  clearTimeout(completed);
  typed = setTimeout(() => choose(), SOON);
});

/** Shows what the query chooses, as it is typed. One that is wrong leaves what is shown, and is explained when nothing more is typed. */
async function choose(pause = PAUSE) {
  clearTimeout(typed);
  clearTimeout(explained);
  const address = new URL(location.href);
  const query = document.getElementById("query").value.trim();
  for (const name of ["needs", "from"]) address.searchParams.delete(name);
  if (query) address.searchParams.set("q", query);
  else address.searchParams.delete("q");
  const mistake = address.href === location.href ? null : await tryGo(address.pathname + address.search, ["truth", "view"]);
  if (mistake === undefined) return;
  clearTimeout(completed);
  completed = setTimeout(() => refresh(["views", "truth", "view"], { quiet: true }), PAUSE);
  const explain = () => {
    document.querySelectorAll("#chosen .mistake").forEach((old) => old.remove());
    if (mistake) document.getElementById("chosen")?.append(mistake);
    document.getElementById("query")?.toggleAttribute("aria-invalid", Boolean(mistake));
  };
  if (mistake) explained = setTimeout(explain, pause);
  else explain();
}

// What can be done with a task, where the pointer is.
document.addEventListener("contextmenu", (event) => {
  const item = event.target.closest?.("#view .card, #view .group-head, #view tr[data-task], #picture a[data-task]");
  if (!item || event.shiftKey || document.documentElement.dataset.scope === "read") return;
  event.preventDefault();
  perform("menu", { ids: selectedOr(item.dataset.task), place: { left: event.clientX, top: event.clientY, bottom: event.clientY, width: 1 } });
});

useTheme();
setUpFilter();
setUpKeys();
setUpPicture();
keepUp();
showEnds();
whenDrawn(showEnds);

/** Says that the conversation on the screen was read: that one, and no other. */
async function markRead() {
  const shown = document.hidden ? null : document.querySelector(".conversation[data-unread]");
  if (!shown) return;
  const { with: from, team } = shown.dataset;
  shown.removeAttribute("data-unread");
  // If that fails it is tried again when the page is drawn next.
  await call("POST", "/inbox", { acknowledge: true, from, ...(team ? { team } : {}) }).catch(() => {});
  refresh(["views", "truth", "view"]);
}
markRead();
whenDrawn(markRead);

const phone = matchMedia("(max-width: 760px)");

/** On a phone an open task stands in the place of the list, and is what the page is about. */
function markMain() {
  const task = document.getElementById("task");
  task.setAttribute("role", phone.matches && !task.hidden ? "main" : "complementary");
}
markMain();
whenDrawn(markMain);
phone.addEventListener("change", markMain);

/** Brings the view that is shown into sight among the others, where there is little room. */
function showView() {
  const [shown, views] = [document.querySelector("#views [aria-current]"), document.querySelector("#views nav")];
  if (shown && views.scrollWidth > views.clientWidth) views.scrollLeft = shown.offsetLeft - views.clientWidth / 2;
}
showView();
whenDrawn(showView);
// Everything is heard from here on: a test that presses a key waits for this.
document.documentElement.dataset.ready = "";
