// The parts of the page: asked of the server anew when something has changed, and put in place without disturbing a user at work:
// focus, scroll position and what is being typed stay.

const ALL = ["lists", "views", "truth", "view", "task", "agents"];
// What scripts add to elements, which the server knows nothing of.
const OWN_CLASSES = ["is-selected", "is-dragged", "is-target", "glow", "moves", "is-moved", "lights", "lit"];
const ITEMS = ".card, tr[data-task], [data-item]";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const wanted = new Set();
const listeners = [];
let running = null;

/** Where we are: the list, the view and the revision that the page shows. */
export function here() {
  return document.getElementById("views").dataset;
}

/** Calls a function whenever parts of the page were put in place. */
export function whenDrawn(listener) {
  listeners.push(listener);
}

/** Asks for parts of the page anew. What is asked for meanwhile is asked for together. */
export function refresh(parts = ALL, how = {}) {
  parts.forEach((part) => wanted.add(part));
  running ??= (async () => {
    try {
      while (wanted.size) {
        const now = [...wanted];
        wanted.clear();
        await fetchParts(now, how);
        how = {};
      }
    } finally {
      running = null;
    }
  })();
  return running;
}

/** Goes to another address of ours, without loading the page anew. */
export async function go(address, { replace = false, parts = ALL } = {}) {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  // What was asked for the address before must not be drawn for this one.
  await running;
  await refresh(parts, { quiet: true });
}

async function fetchParts(parts, { quiet = false }) {
  const address = location.pathname + location.search;
  let answer;
  try {
    answer = await fetch(address, { headers: { "taskyard-parts": parts.join(",") } });
  } catch {
    return; // The follower of the stream says that the server is gone.
  }
  const text = await answer.text();
  if (location.pathname + location.search !== address) return;
  if (!answer.ok) {
    if (answer.status === 401) warn("This browser is no longer let in: open the link that taskyard serve prints.");
    if (answer.status === 404) document.getElementById("gone").hidden = false;
    return;
  }
  put(text, quiet);
}

/** Says above the page why it is of little use as it is. */
export function warn(words) {
  const gone = document.getElementById("gone");
  gone.textContent = words;
  gone.hidden = false;
}

function put(text, quiet) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const before = quiet ? null : signatures();
  const places = quiet || still.matches ? null : boxes();
  const focus = focused();
  for (const part of [...next.body.children]) {
    const old = document.getElementById(part.id);
    if (old) morph(old, part);
  }
  document.body.classList.toggle("has-task", !document.getElementById("task").hidden);
  document.body.classList.toggle("all-lists", here().view === "lists");
  document.title = here().title;
  if (focus && document.activeElement === document.body) refocus(focus);
  if (before) glow(before);
  if (places) slide(places);
  listeners.forEach((listener) => listener());
}

/** Makes an element like another, with as few changes as it takes. */
export function morph(old, next) {
  if (old.hasAttribute("data-editing")) return;
  const holds = (old.dataset?.holds ?? "").split(" ");
  for (const { name, value } of next.attributes) {
    if (name === "class") {
      const kept = OWN_CLASSES.filter((own) => old.classList.contains(own));
      const all = [value, ...kept].join(" ").trim();
      if (old.getAttribute("class") !== all) old.setAttribute("class", all);
    } else if (!holds.includes(name) && old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
      if (name === "value" && old !== document.activeElement && old.type !== "checkbox") old.value = value;
    }
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "data-holds" && !holds.includes(name)) {
      if (name === "class") OWN_CLASSES.some((own) => old.classList.contains(own)) || old.removeAttribute("class");
      else old.removeAttribute(name);
    }
  }
  morphChildren(old, next);
}

function morphChildren(old, next) {
  let at = old.firstChild;
  for (const want of [...next.childNodes]) {
    while (at?.dataset?.keep !== undefined) at = at.nextSibling;
    const found = want.id ? document.getElementById(want.id) : at && !at.id && at.nodeName === want.nodeName ? at : null;
    if (!found || found.nodeName !== want.nodeName || found.contains(old)) {
      old.insertBefore(document.adoptNode(want), at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else old.insertBefore(found, at);
    if (want.nodeType === Node.ELEMENT_NODE) morph(found, want);
    else if (found.nodeValue !== want.nodeValue) found.nodeValue = want.nodeValue;
  }
  while (at) {
    const after = at.nextSibling;
    if (at.dataset?.keep === undefined) at.remove();
    at = after;
  }
}

function focused() {
  const element = document.activeElement;
  const holder = element?.closest("[id]");
  if (!holder || element === document.body) return null;
  return { id: holder.id, is: element === holder ? null : element.classList.contains("open") ? ".open" : element.dataset.act ? `[data-act="${element.dataset.act}"]` : null };
}

function refocus({ id, is }) {
  const holder = document.getElementById(id);
  (is ? holder?.querySelector(is) : holder)?.focus({ preventScroll: true });
}

/** Tells what each thing on the page says, times left out: they pass by themselves. */
function signatures() {
  const all = new Map();
  for (const item of document.querySelectorAll(ITEMS)) {
    let text = item.dataset.status ?? "";
    const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("time, [data-keep]")) text += walker.currentNode.nodeValue;
    all.set(item.id, text);
  }
  return all;
}

function glow(before) {
  const changed = [...signatures()].filter(([id, text]) => before.get(id) !== text);
  if (changed.length > 20) return;
  for (const [id] of changed) {
    const item = document.getElementById(id);
    item.classList.remove("glow");
    requestAnimationFrame(() => item.classList.add("glow"));
    setTimeout(() => item.classList.remove("glow"), 1250);
  }
}

function boxes() {
  return new Map([...document.querySelectorAll(".card[id], tr[data-task]")].slice(0, 200).map((item) => [item.id, item.getBoundingClientRect()]));
}

/** Lets what has moved slide from where it was. */
function slide(before) {
  for (const [id, from] of before) {
    const item = document.getElementById(id);
    if (!item) continue;
    const to = item.getBoundingClientRect();
    const [x, y] = [from.left - to.left, from.top - to.top];
    if (x || y) item.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], { duration: 120, easing: "ease-out" });
  }
}
