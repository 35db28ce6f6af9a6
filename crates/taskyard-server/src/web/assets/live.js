// What happens, as it happens: one stream of events for all tabs of this browser. The tab that holds the lock has the stream and tells
// the others; when it goes, another takes the lock and resumes where the stream was.

import { base } from "./server.js";

const NAMES = ["commit", "job_ended", "message", "agent_came", "agent_went", "list_came", "list_went", "ready", "resumed", "reset"];
const AGAIN = 1000;

const channel = new BroadcastChannel(`taskyard${base}`);
const me = Math.random().toString(36);
/** The event after which the page was drawn. */
const drawnAfter = document.documentElement.dataset.since ?? "";
let last = drawnAfter;
let hear = () => {};
let isGone = false;
let isLead = false;

/** Follows what happens; `listener` hears of each event, of `gone` and of `back`. */
export function follow(listener) {
  hear = (news) => {
    if (news.id) last = news.id;
    if (news.name === "gone") isGone = true;
    else if (isGone) {
      isGone = false;
      if (news.name !== "back") listener({ name: "back" });
    }
    listener(news);
  };
  channel.onmessage = ({ data }) => {
    if (data.name === "ask") return void (isLead && channel.postMessage({ name: isGone ? "gone" : "standing", to: data.from, id: last }));
    // That the stream stands is for the tab that has just come and asked.
    if (data.name !== "standing") hear(data);
    else if (data.to === me) hear({ name: isAfter(data.id, drawnAfter) ? "standing" : "resumed" });
  };
  // Without a lock, which browsers have on encrypted or local addresses alone, each tab has a stream of its own.
  if (!navigator.locks) return lead();
  channel.postMessage({ name: "ask", from: me });
  navigator.locks.request(`taskyard-stream${base}`, () => new Promise(lead));
}

/** Tells whether an event came after another; of events that different readers told of nobody knows. */
function isAfter(id, other) {
  const [one, two] = [id, other].map((text) => text.split("."));
  return !other || one[1] !== two[1] || Number(one[2]) > Number(two[2]);
}

function tell(news) {
  if (navigator.locks) channel.postMessage(news);
  hear(news);
}

/** Holds the stream, for as long as this tab is there. */
function lead() {
  isLead = true;
  const source = new EventSource(`${base}/api/v1/events${last ? `?since=${encodeURIComponent(last)}` : ""}`);
  for (const name of NAMES) {
    source.addEventListener(name, (event) => tell({ name, id: event.lastEventId, data: JSON.parse(event.data) }));
  }
  // A connection that was cut may look open for minutes.
  const anew = () => {
    removeEventListener("online", anew);
    source.close();
    lead();
  };
  addEventListener("online", anew);
  source.onopen = () => isGone && tell({ name: "back" });
  source.onerror = () => {
    if (!isGone) tell({ name: "gone" });
    // A browser tries again by itself after a connection broke, and gives up after an answer that is none.
    if (source.readyState !== EventSource.CLOSED) return;
    removeEventListener("online", anew);
    setTimeout(lead, AGAIN);
  };
}
