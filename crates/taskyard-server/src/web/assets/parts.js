// The parts of the page: asked of the server anew when something has changed, and put in place without disturbing a user at work:
// focus, scroll position and what is being typed stay.

import { fetchAgain, isUpToDate, warn } from "./fetching.js";

const ALL = ["lists", "views", "truth", "view", "task", "agents"];
// What scripts add to elements, which the server knows nothing of.
const OWN_CLASSES = ["is-folded", "is-selected", "is-cursor", "is-dragged", "is-target", "glow", "moves", "is-moved", "lights", "lit"];
const ITEMS = ":is(.card, tr[data-task], [data-item])[id]";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const wanted = new Set();
const listeners = [];
let running = null;
/** The request under way: for which address, and what ends it. */
let asking = null;
/** Ends the request for an address that is tried. */
let trying = null;
/** Whether what is wanted is drawn without showing what changed: it is another page, not another state of the same. */
let isQuiet = false;

/** Where we are: the list, the view and the revision that the page shows. */
export function here() {
  return document.getElementById("views").dataset;
}

/** Calls a function whenever parts of the page were put in place. */
export function whenDrawn(listener) {
  listeners.push(listener);
}

/** Returns a button that does something. */
export function button(words, does, kind = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: kind, textContent: words, onclick: does });
  return made;
}

/** Asks for parts of the page anew, until the server answers. What is asked for meanwhile is asked for together. */
export function refresh(parts = ALL, { quiet = false } = {}) {
  parts.forEach((part) => wanted.add(part));
  isQuiet ||= quiet;
  // What was asked for another address must not be drawn for this one.
  if (asking && asking.address !== addressNow()) asking.control.abort();
  running ??= fetchWanted().finally(() => (running = null));
  return running;
}

/** Goes to another address of ours, without loading the page anew. */
export function go(address, { replace = false, parts = ALL } = {}) {
  trying?.abort();
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  return refresh(parts, { quiet: true });
}

/**
 * Shows other tasks in the place of these if the server understands the query of an address. Returns null, or what is wrong with the query, or
 * undefined if something else was asked for meanwhile.
 */
export async function tryGo(address, parts) {
  trying?.abort();
  const control = (trying = new AbortController());
  const got = await fetchAgain(`${address}${address.includes("?") ? "&" : "?"}rows=${FEW}`, { headers: { "taskyard-parts": parts.join(",") }, signal: control.signal }).catch(() => null);
  if (!got || control.signal.aborted) return undefined;
  const mistake = new DOMParser().parseFromString(got.text, "text/html").querySelector(".mistake");
  if (mistake) {
    mistake.dataset.keep = "";
    return mistake;
  }
  history.replaceState(null, "", address);
  put(got.text, true);
  return null;
}

/** How many rows are asked for with every letter of a query; the rest comes when nothing more is typed. */
const FEW = 6;
const addressNow = () => location.pathname + location.search;

async function fetchWanted() {
  while (wanted.size) {
    const [parts, quiet] = [[...wanted], isQuiet];
    wanted.clear();
    isQuiet = false;
    asking = { address: addressNow(), control: new AbortController() };
    const got = await fetchAgain(asking.address, { headers: { "taskyard-parts": parts.join(",") }, signal: asking.control.signal }).catch(() => null);
    if (!got || asking.address !== addressNow()) {
      parts.forEach((part) => wanted.add(part));
      isQuiet ||= quiet;
      continue;
    }
    isUpToDate();
    if (got.answer.status === 401) warn("This browser is no longer signed in: open the link that taskyard serve prints.");
    // What cannot be shown is explained in the place of the tasks.
    else put(got.text, quiet || !got.answer.ok);
  }
  asking = null;
}

function put(text, quiet) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const before = quiet ? null : signatures();
  const places = quiet || still.matches ? null : boxes();
  const focus = focused();
  for (const part of [...next.body.children]) {
    const old = document.getElementById(part.id);
    if (part.id === "lists" && old?.matches(":hover, :focus-within")) keepOrder(old, part);
    if (old && isSame(old, part)) morph(old, part);
    else old?.replaceWith(part);
  }
  document.body.classList.toggle("has-task", !document.getElementById("task").hidden);
  document.body.classList.toggle("all-lists", here().view === "lists");
  document.title = here().title;
  if (focus && document.activeElement === document.body) refocus(focus);
  if (before) glow(before);
  if (places) slide(places);
  listeners.forEach((listener) => listener());
}

/** Has the lists beside the page keep their places: somebody is about to click on one. */
function keepOrder(old, next) {
  const hrefOf = (item) => item.querySelector("a").getAttribute("href");
  const places = new Map([...old.querySelectorAll("li")].map((item, place) => [hrefOf(item), place]));
  const place = (item) => places.get(hrefOf(item)) ?? places.size;
  const list = next.querySelector("ul");
  list.append(...[...list.children].sort((one, two) => place(one) - place(two)));
}

/** Tells whether an element may become another: what belongs to one list, task or conversation is never reused for the next. */
const isSame = (old, next) => old.nodeName === next.nodeName && old.dataset?.key === next.dataset?.key;

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
    if (!found || !isSame(found, want) || found.contains(old)) {
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

const keyOf = (element) => element?.closest("[data-key]")?.dataset.key;

function focused() {
  const element = document.activeElement;
  const holder = element?.closest("[id]");
  if (!holder || element === document.body) return null;
  return { id: holder.id, key: keyOf(holder), is: element === holder ? null : element.classList.contains("open") ? ".open" : element.dataset.act ? `[data-act="${element.dataset.act}"]` : null };
}

function refocus({ id, key, is }) {
  const holder = document.getElementById(id);
  if (keyOf(holder) === key) (is ? holder?.querySelector(is) : holder)?.focus({ preventScroll: true });
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
