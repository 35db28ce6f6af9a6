// As much of a page as scripts need that decide something. Import it before a script: scripts look at the page when they are loaded.

/** What the page was told to do every so often: the functions. */
export const periodic = [];
/** What listens to the window, by event. */
const heard = new Map();
/** The requests that were made, oldest first: `{ address, how }`. */
export const requests = [];
let respond = () => new Promise(() => {});

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

class Node {
  static ELEMENT_NODE = 1;
  parentNode = null;
  contains(inner) {
    for (let one = inner; one; one = one.parentNode) if (one === this) return true;
    return false;
  }
  get parentElement() {
    return this.parentNode;
  }
  get nextSibling() {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }
  remove() {
    const all = this.parentNode?.childNodes ?? [];
    if (all.includes(this)) all.splice(all.indexOf(this), 1);
    this.parentNode = null;
  }
}

class Text extends Node {
  nodeName = "#text";
  nodeType = 3;
  constructor(text) {
    super();
    this.nodeValue = text;
  }
}

/** An element: attributes, children and listeners; nothing is drawn. */
export class Element extends Node {
  nodeType = 1;
  childNodes = [];
  listeners = new Map();
  hidden = false;
  value = "";
  style = {};
  constructor(name, attributes = {}, children = []) {
    super();
    this.nodeName = name.toUpperCase();
    this.all = new Map(Object.entries(attributes));
    this.append(...children);
    this.dataset = new Proxy({}, {
      get: (_, key) => this.all.get(`data-${kebab(key)}`),
      set: (_, key, value) => Boolean(this.all.set(`data-${kebab(key)}`, String(value))),
    });
    this.classList = {
      contains: (one) => this.classes().includes(one),
      add: (one) => this.classList.toggle(one, true),
      remove: (one) => this.classList.toggle(one, false),
      toggle: (one, isSet) => this.all.set("class", [...this.classes().filter((other) => other !== one), ...(isSet ? [one] : [])].join(" ")),
    };
  }
  classes() {
    return (this.all.get("class") ?? "").split(" ").filter(Boolean);
  }
  get id() {
    return this.all.get("id") ?? "";
  }
  set id(id) {
    this.all.set("id", id);
  }
  get attributes() {
    return [...this.all].map(([name, value]) => ({ name, value }));
  }
  get children() {
    return this.childNodes.filter((child) => child instanceof Element);
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get textContent() {
    return this.childNodes.map((child) => child.nodeValue ?? child.textContent).join("");
  }
  set textContent(text) {
    this.childNodes = [];
    if (text) this.append(text);
  }
  getAttribute = (name) => this.all.get(name) ?? null;
  hasAttribute = (name) => this.all.has(name);
  setAttribute = (name, value) => void this.all.set(name, String(value));
  removeAttribute = (name) => void this.all.delete(name);
  append(...children) {
    for (const child of children) this.insertBefore(child instanceof Node ? child : new Text(child), null);
  }
  insertBefore(child, next) {
    child.remove();
    const at = next ? this.childNodes.indexOf(next) : this.childNodes.length;
    this.childNodes.splice(at, 0, child);
    child.parentNode = this;
    return child;
  }
  find(id) {
    return this.children.map((child) => (child.id === id ? child : child.find(id))).find(Boolean);
  }
  addEventListener(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }
  querySelector = () => null;
  querySelectorAll = () => [];
  closest = () => null;
  matches = () => false;
  scrollIntoView() {}
  focus() {
    document.activeElement = this;
  }
}

class Storage {
  #items = new Map();
  getItem = (name) => this.#items.get(name) ?? null;
  setItem = (name, value) => void this.#items.set(name, String(value));
  removeItem = (name) => void this.#items.delete(name);
  clear = () => this.#items.clear();
}

const body = new Element("body");
/** Puts an element on the page. */
export function place(element) {
  body.append(element);
  return element;
}

const page = {
  Node,
  document: Object.assign(new Element("#document"), {
    documentElement: new Element("html", { "data-base": "/yard", "data-since": "5.a.7" }),
    body,
    activeElement: body,
    hidden: false,
    getElementById: (id) => body.find(id) ?? null,
    createElement: (name) => new Element(name),
    adoptNode: (node) => node,
  }),
  location: { pathname: "/lists/L", search: "", href: "http://127.0.0.1/lists/L" },
  localStorage: new Storage(),
  sessionStorage: new Storage(),
  history: { pushState: (state, title, address) => goTo(address), replaceState: (state, title, address) => goTo(address) },
  matchMedia: () => ({ matches: true, addEventListener() {} }),
  CSS: { escape: (text) => text },
  setInterval: (does) => void periodic.push(does),
  addEventListener: (name, listener) => heard.set(name, [...(heard.get(name) ?? []), listener]),
  removeEventListener: (name, listener) => heard.set(name, (heard.get(name) ?? []).filter((one) => one !== listener)),
  fetch: (address, how) => {
    requests.push({ address, how });
    return respond(address, how);
  },
};
for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

place(new Element("p", { id: "gone" }, [new Element("span"), new Element("span")]));
place(new Element("p", { id: "said" }));
place(new Element("nav", { id: "views", "data-list": "L", "data-view": "table" }));
place(new Element("aside", { id: "task" })).hidden = true;

/** Has the page at another address. */
export function goTo(address) {
  [location.pathname, location.search] = [address.split("?")[0], address.includes("?") ? `?${address.split("?")[1]}` : ""];
}

/** Answers requests from now on; what is returned or thrown is the answer. */
export function answering(how) {
  respond = async (address, request) => how(address, request);
}

/** Returns an answer with a JSON text. */
export const json = (value, { status = 200, headers = {} } = {}) => new Response(JSON.stringify(value), { status, headers });

/** Tells the window of an event. */
export function happens(name, event = {}) {
  for (const listener of heard.get(name) ?? []) listener(event);
}

/** Returns once something is so: other work of the page has its turn between two looks. */
export async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
