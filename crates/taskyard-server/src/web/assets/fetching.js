// Asking the server until it answers: a lost answer is asked for again, soon at first and then less often, and at once when the network is back.
// While the page is not up to date it says so, and how old it is.

const WAITS = [250, 500, 1000, 2000, 4000, 8000];
const TIMEOUT = 20_000;
// An answer of something between us and the server, or of a server that has no room now.
const NOT_NOW = [429, 502, 503, 504];

const gone = document.getElementById("gone");
/** What is asked for in vain at the moment. */
const missing = new Set();
let updated = Date.now();
let warning = "";

/**
 * Returns the answer to a request and its text. Without an answer it asks again, `again` times at most; then, and if the signal is given, it
 * throws.
 */
export async function fetchAgain(address, { signal, ...how } = {}, again = Infinity) {
  for (let tries = 0; ; tries++) {
    try {
      const limits = [AbortSignal.timeout(TIMEOUT), ...(signal ? [signal] : [])];
      const answer = await fetch(address, { ...how, signal: AbortSignal.any(limits) });
      const text = await answer.text();
      if (tries >= again || !NOT_NOW.includes(answer.status)) return { answer, text };
    } catch (error) {
      if (signal?.aborted || tries >= again) throw error;
    }
    // Once is nothing to speak of.
    if (tries > 0 && again === Infinity) isMissing("answer", true);
    await pause(WAITS[Math.min(tries, WAITS.length - 1)], signal);
  }
}

/** Waits; no longer when the network is back, or nobody wants to know any more. */
function pause(time, signal) {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener("online", over);
      signal?.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, time);
    addEventListener("online", over);
    signal?.addEventListener("abort", over);
  });
}

/** Says that something does not come at the moment, or comes again. */
export function isMissing(what, isSo) {
  if (isSo) missing.add(what);
  else missing.delete(what);
  tell();
}

/** Says that what the page shows is what the server has. */
export function isUpToDate() {
  updated = Date.now();
  isMissing("answer", false);
}

/** Says above the page why it is of little use as it is. */
export function warn(words) {
  warning = words;
  tell();
}

function tell() {
  gone.hidden = !warning && !missing.size;
  const [words, age] = gone.children;
  const now = warning || "The server does not answer.";
  if (words.textContent !== now) words.textContent = now;
  age.textContent = warning ? "" : `Last updated ${Math.round((Date.now() - updated) / 1000)} s ago, reconnecting…`;
}
setInterval(() => missing.size && tell(), 1000);
