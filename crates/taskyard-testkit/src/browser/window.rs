//! A browser window as a person uses it: elements, keys, its size and its accessibility.

use std::cell::Cell;
use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::DriverError;
use crate::browser::driver;
use crate::browser::driver::Session;
use crate::patience::wait_or;
use crate::rivals::install_axe;

/// A window or a tab of a browser. Every method waits for what it needs, and panics if that does not appear.
#[derive(Debug)]
pub struct Window {
    session: Arc<Session>,
    handle: String,
    /// Whether the scripts of pages run.
    has_scripts: Cell<bool>,
}

impl Window {
    pub(super) fn new(session: Arc<Session>, handle: String) -> Self {
        Self { session, handle, has_scripts: Cell::new(true) }
    }

    /// Opens an address, and waits until the page is loaded and handles input.
    pub fn open(&self, address: &str) {
        self.done("POST", "/url", &json!({ "url": address }));
        self.is_ready();
    }

    /// Loads the page anew, and waits in the same way.
    pub fn reload(&self) {
        self.done("POST", "/refresh", &json!({}));
        self.is_ready();
    }

    /// Waits until a page is loaded and its scripts, if any, are ready: keys pressed earlier are lost.
    fn is_ready(&self) {
        self.until("document.readyState === 'complete'");
        if self.has_scripts.get() {
            self.until("!document.querySelector('script[type=module]') || 'ready' in document.documentElement.dataset");
        }
    }

    /// Closes it.
    pub fn close(self) {
        self.done("DELETE", "/window", &json!({}));
        self.session.forget_current();
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        let address = self.call("GET", "/url", None).unwrap_or_default();
        address.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the title of the page.
    pub fn title(&self) -> String {
        let title = self.call("GET", "/title", None).unwrap_or_default();
        title.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the text of the page, as it can be read.
    pub fn text(&self) -> String {
        let text = self.try_script("return document.body ? document.body.innerText : ''", &[]).unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the source of the page as it is now.
    pub fn source(&self) -> String {
        let source = self.call("GET", "/source", None).unwrap_or_default();
        source.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows a text.
    pub fn sees(&self, text: &str) {
        self.wait(&format!("`{text}` is shown"), || self.text().contains(text).then_some(()));
    }

    /// Waits until the page no longer shows a text.
    pub fn sees_no_more(&self, text: &str) {
        self.wait(&format!("`{text}` is gone"), || (!self.text().contains(text)).then_some(()));
    }

    /// Waits until an expression of JavaScript is true.
    pub fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        self.wait(expression, || (self.try_script(&script, &[]).ok()? == json!(true)).then_some(()));
    }

    /// Waits for something, which is looked for again and again.
    pub fn wait<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        wait_or(look, || {
            format!(
                "still waiting until {what}; {} shows:\n{}\nwith {}\nand said: {:?}",
                self.address(),
                self.text(),
                self.controls(),
                self.complaints()
            )
        })
    }

    /// Returns what can be clicked and typed into, by role and name: for a test that looks for something in vain.
    fn controls(&self) -> String {
        let shown = self.elements("button, a[href], input, textarea, select").into_iter().filter(Element::is_shown);
        shown.map(|element| format!("{} `{}`", element.role(), element.name())).collect::<Vec<_>>().join(", ")
    }

    /// Waits for the first element that a CSS selector finds.
    pub fn element(&self, selector: &str) -> Element {
        self.wait(&format!("`{selector}` is there"), || self.elements(selector).into_iter().next())
    }

    /// Returns the elements that a CSS selector finds now.
    pub fn elements(&self, selector: &str) -> Vec<Element> {
        let found = self.call("POST", "/elements", Some(&json!({ "using": "css selector", "value": selector })));
        let found = found.unwrap_or_default();
        let elements = found.as_array().into_iter().flatten();
        elements.filter_map(|answer| Element::of(&self.session, &self.handle, answer)).collect()
    }

    /// Waits for an element with an accessible role and name.
    pub fn find(&self, role: &str, name: &str) -> Element {
        self.wait(&format!("there is a {role} `{name}`"), || self.find_now(role, name))
    }

    /// Returns such an element, if there is one now.
    pub fn find_now(&self, role: &str, name: &str) -> Option<Element> {
        self.elements(&selector_of(role))
            .into_iter()
            .find(|element| element.is_shown() && element.role() == role && element.name().trim() == name)
    }

    /// Clicks an element with a role and name. If the page replaces it in the meantime, it is looked up again.
    pub fn click(&self, role: &str, name: &str) {
        self.wait(&format!("the {role} `{name}` can be clicked"), || {
            self.find_now(role, name).and_then(|element| element.try_click().ok())
        });
    }

    /// Returns the element that keys go to.
    pub fn focused(&self) -> Option<Element> {
        let answer = self.call("GET", "/element/active", None).ok()?;
        Element::of(&self.session, &self.handle, &answer)
    }

    /// Presses keys together: `?`, `Enter`, `Control+k`.
    pub fn press(&self, keys: &str) {
        self.done("POST", "/actions", &press(keys));
    }

    /// Types a text to whatever has the focus.
    pub fn type_text(&self, text: &str) {
        self.done("POST", "/actions", &type_text(text));
    }

    /// Moves the mouse over an element.
    pub fn hover(&self, element: &Element) {
        let over = json!({ "type": "pointerMove", "duration": 0, "origin": element.reference(), "x": 0, "y": 0 });
        let pointer =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": [over] });
        self.done("POST", "/actions", &json!({ "actions": [pointer] }));
    }

    /// Touches an element with a finger, in its middle.
    pub fn tap(&self, element: &Element) {
        self.script("arguments[0].scrollIntoView({ block: 'center', inline: 'center' })", &[element.reference()]);
        let moves = [
            json!({ "type": "pointerMove", "duration": 0, "origin": element.reference(), "x": 0, "y": 0 }),
            json!({ "type": "pointerDown", "button": 0 }),
            json!({ "type": "pointerUp", "button": 0 }),
        ];
        let finger =
            json!({ "type": "pointer", "id": "finger", "parameters": { "pointerType": "touch" }, "actions": moves });
        self.done("POST", "/actions", &json!({ "actions": [finger] }));
    }

    /// Presses the right button of the mouse on an element.
    pub fn click_right(&self, element: &Element) {
        let moves = [
            json!({ "type": "pointerMove", "duration": 0, "origin": element.reference(), "x": 0, "y": 0 }),
            json!({ "type": "pointerDown", "button": 2 }),
            json!({ "type": "pointerUp", "button": 2 }),
        ];
        let pointer =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": moves });
        self.done("POST", "/actions", &json!({ "actions": [pointer] }));
    }

    /// Drags one element onto another, as a hand does: down, along, up.
    pub fn drag(&self, from: &Element, onto: &Element) {
        self.script("arguments[0].scrollIntoView({ block: 'center', inline: 'center' })", &[from.reference()]);
        let over = |element: &Element, milliseconds: u32, x: i32| json!({ "type": "pointerMove", "duration": milliseconds, "origin": element.reference(), "x": x, "y": 0 });
        let moves = [
            over(from, 0, 0),
            json!({ "type": "pointerDown", "button": 0 }),
            // A browser takes it for a drag when the pointer has gone a few pixels.
            over(from, 50, 8),
            over(onto, 100, -4),
            over(onto, 50, 0),
            json!({ "type": "pointerUp", "button": 0 }),
        ];
        let pointer =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": moves });
        self.done("POST", "/actions", &json!({ "actions": [pointer] }));
    }

    /// Runs the body of a JavaScript function in the page, and returns its result.
    pub fn script(&self, body: &str, arguments: &[Value]) -> Value {
        self.try_script(body, arguments).unwrap_or_else(|error| panic!("{error:?}: {body}"))
    }

    fn try_script(&self, body: &str, arguments: &[Value]) -> Result<Value, DriverError> {
        self.call("POST", "/execute/sync", Some(&json!({ "script": body, "args": arguments })))
    }

    /// Shows the page on a screen of another size.
    pub fn show_on(&self, screen: Screen) {
        let (width, height) = screen.size();
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets the preferred colour scheme and reduced motion.
    pub fn prefer(&self, scheme: Scheme) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme.as_str() },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Forbids scripts of pages from now on; those of the test still run.
    pub fn forbid_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
        self.has_scripts.set(false);
    }

    /// Cuts the window off from every server, or lets it reach them again.
    pub fn set_offline(&self, is_offline: bool) {
        let conditions =
            json!({ "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.devtools("Network.enable", json!({}));
        self.devtools("Network.emulateNetworkConditions", conditions);
    }

    /// Takes a screenshot.
    pub fn picture(&self) -> Picture {
        let taken = self.devtools("Page.captureScreenshot", json!({ "format": "png" }));
        Picture { png: driver::decode(taken["data"].as_str().unwrap_or_default()) }
    }

    /// Returns what axe finds wrong with the page.
    pub fn axe(&self, looking: Looking) -> Vec<Finding> {
        let execute = |kind: &str, script: &str, arguments: &[Value]| {
            self.done("POST", &format!("/execute/{kind}"), &json!({ "script": script, "args": arguments }))
        };
        if execute("sync", IS_THERE, &[]) != true {
            execute("sync", &fs::read_to_string(install_axe()).unwrap(), &[]);
        }
        let answer = execute("async", RUN, &[looking.options()]);
        findings(&answer)
    }

    /// Returns what the page complained of on its console since the last time: errors, refused scripts and styles, failed requests.
    pub fn complaints(&self) -> Vec<String> {
        let logged = self.call("POST", "/se/log", Some(&json!({ "type": "browser" }))).unwrap_or_default();
        let lines = logged.as_array().into_iter().flatten().filter(|line| line["level"] == "SEVERE");
        lines.filter_map(|line| line["message"].as_str()).map(str::to_owned).collect()
    }

    /// Has Chromium carry out a command of its own protocol.
    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.done("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, path, Some(body))
            .unwrap_or_else(|error| panic!("{method} {path}: {} {}", error.code, error.message))
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DriverError> {
        self.session.call(&self.handle, method, path, body)
    }
}

/// Returns the CSS selector of everything that may have a role.
fn selector_of(role: &str) -> String {
    let native = match role {
        "button" => "button, summary, input[type=submit], input[type=button]",
        "link" => "a[href]",
        "textbox" => "input, textarea, [contenteditable]",
        "searchbox" => "input[type=search]",
        "combobox" => "select, input[list]",
        "checkbox" => "input[type=checkbox]",
        "radio" => "input[type=radio]",
        "option" => "option",
        "heading" => "h1, h2, h3, h4, h5, h6",
        "list" => "ul, ol, menu",
        "listitem" => "li",
        "article" => "article",
        "dialog" => "dialog",
        "navigation" => "nav",
        "main" => "main",
        "region" => "section",
        "row" => "tr",
        "image" | "img" => "img, svg",
        _ => "no-such-element",
    };
    format!("{native}, [role={role}]")
}

/// A running Chromium with a profile of its own, which ends with it.
#[derive(Debug)]
pub struct Browser {
    session: Arc<Session>,
}

impl Browser {
    /// Starts a browser.
    pub fn start() -> Self {
        Self { session: Arc::new(Session::start()) }
    }

    /// Returns the window that a browser starts with.
    pub fn window(&self) -> Window {
        Window::new(Arc::clone(&self.session), self.session.current())
    }

    /// Opens a tab beside it, which shares its cookies.
    pub fn tab(&self) -> Window {
        Window::new(Arc::clone(&self.session), self.session.another_window("tab"))
    }
}

/// The name under which the standard passes elements around.
const KEY: &str = "element-6066-11e4-a52e-4f735466cecf";

/// An element of a page; invalid after the page removes it.
#[derive(Clone, Debug)]
pub struct Element {
    session: Arc<Session>,
    window: String,
    id: String,
}

impl Element {
    /// Returns the element that the driver names in an answer.
    pub(super) fn of(session: &Arc<Session>, window: &str, answer: &Value) -> Option<Self> {
        let id = answer[KEY].as_str()?.to_owned();
        Some(Self { session: Arc::clone(session), window: window.to_owned(), id })
    }

    /// Returns it as scripts and actions take it.
    pub(super) fn reference(&self) -> Value {
        json!({ KEY: self.id })
    }

    /// Clicks on it.
    pub fn click(&self) {
        self.try_click().unwrap_or_else(|error| panic!("cannot be clicked: {error:?}"));
    }

    pub(super) fn try_click(&self) -> Result<(), DriverError> {
        self.call("POST", "click", Some(&json!({}))).map(drop)
    }

    /// Empties it and types a text into it.
    pub fn fill(&self, text: &str) {
        self.call("POST", "clear", Some(&json!({}))).unwrap_or_else(|error| panic!("cannot be emptied: {error:?}"));
        self.type_in(text);
    }

    /// Types a text into it.
    pub fn type_in(&self, text: &str) {
        let typed = self.call("POST", "value", Some(&json!({ "text": text })));
        typed.unwrap_or_else(|error| panic!("nothing can be typed into it: {error:?}"));
    }

    /// Returns the text that it shows.
    pub fn text(&self) -> String {
        self.word("text")
    }

    /// Returns its accessible role.
    pub fn role(&self) -> String {
        self.word("computedrole")
    }

    /// Returns its accessible name.
    pub fn name(&self) -> String {
        self.word("computedlabel")
    }

    /// Returns an attribute, or `None` if it does not have it.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let value = self.call("GET", &format!("attribute/{name}"), None).unwrap_or_default();
        value.as_str().map(str::to_owned)
    }

    /// Returns a property, what a field holds as `value` say.
    pub fn property(&self, name: &str) -> Value {
        self.call("GET", &format!("property/{name}"), None).unwrap_or_default()
    }

    /// Tells whether it can be seen.
    pub fn is_shown(&self) -> bool {
        self.call("GET", "displayed", None).is_ok_and(|shown| shown == json!(true))
    }

    fn word(&self, what: &str) -> String {
        // What the page took away has no words any more.
        let word = self.call("GET", what, None).unwrap_or_default();
        word.as_str().unwrap_or_default().to_owned()
    }

    fn call(&self, method: &str, what: &str, body: Option<&Value>) -> Result<Value, DriverError> {
        self.session.call(&self.window, method, &format!("/element/{}/{what}", self.id), body)
    }
}

/// The keys that have names and no characters.
const NAMED: [(&str, char); 18] = [
    ("Enter", '\u{e007}'),
    ("Escape", '\u{e00c}'),
    ("Tab", '\u{e004}'),
    ("Backspace", '\u{e003}'),
    ("Delete", '\u{e017}'),
    ("Space", ' '),
    ("ArrowLeft", '\u{e012}'),
    ("ArrowUp", '\u{e013}'),
    ("ArrowRight", '\u{e014}'),
    ("ArrowDown", '\u{e015}'),
    ("PageUp", '\u{e00e}'),
    ("PageDown", '\u{e00f}'),
    ("Home", '\u{e011}'),
    ("End", '\u{e010}'),
    ("Shift", '\u{e008}'),
    ("Control", '\u{e009}'),
    ("Alt", '\u{e00a}'),
    ("Meta", '\u{e03d}'),
];

/// Returns the actions that press keys together and let go of them again: `Control+k`.
pub(super) fn press(keys: &str) -> Value {
    // A plus sign on its own is a key, too.
    let keys: Vec<char> = match keys {
        "+" => vec!['+'],
        keys => keys.split('+').map(key).collect(),
    };
    let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key }));
    let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
    source(down.chain(up).collect())
}

/// Returns the actions that type a text, one key after the other.
pub(super) fn type_text(text: &str) -> Value {
    let strokes =
        text.chars().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() })));
    source(strokes.collect())
}

fn source(actions: Vec<Value>) -> Value {
    json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] })
}

fn key(name: &str) -> char {
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, key)| *key);
    let mut characters = name.chars();
    let single = characters.next().filter(|_| characters.next().is_none());
    named.or(single).unwrap_or_else(|| panic!("`{name}` is no key"))
}

/// A size of window, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Held in a hand.
    Phone,
    /// Held in two hands.
    Tablet,
    /// On a desk.
    Laptop,
    /// On a wall.
    Wall,
}

/// The colours that a reader prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What a window shows, as a PNG.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The bytes of the file.
    pub png: Vec<u8>,
}

impl Screen {
    /// Returns all of them.
    pub const ALL: [Self; 4] = [Self::Phone, Self::Tablet, Self::Laptop, Self::Wall];

    /// Returns its width and height.
    pub const fn size(self) -> (u32, u32) {
        match self {
            Self::Phone => (390, 844),
            Self::Tablet => (768, 1024),
            Self::Laptop => (1440, 900),
            Self::Wall => (2560, 1440),
        }
    }

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::Tablet => "tablet",
            Self::Laptop => "laptop",
            Self::Wall => "wall",
        }
    }
}

impl Scheme {
    /// Returns all of them.
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Picture {
    /// Returns its width and height, as its header has them.
    pub fn size(&self) -> (u32, u32) {
        let number = |at: usize| u32::from_be_bytes(self.png[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    }
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impact {
    /// A user may stumble.
    Minor,
    /// A user is slowed down.
    Moderate,
    /// A user cannot do something.
    Serious,
    /// A user can do nothing.
    Critical,
}

/// Something that is wrong with a page.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: String,
    /// How bad it is.
    pub impact: Impact,
    /// What is asked for.
    pub help: String,
    /// Where it is, as the source of each element.
    pub elements: Vec<String>,
}

/// What axe looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looking {
    /// Everything it has a rule for, and whether what is clicked is large enough, which it leaves out unless asked.
    ForEverything,
    /// Colours alone: nothing else of a page is different to a reader who prefers other colours.
    ForColours,
}

impl Looking {
    /// Returns the options that say so.
    pub(super) fn options(self) -> Value {
        match self {
            Self::ForEverything => {
                json!({ "resultTypes": ["violations"], "rules": { "target-size": { "enabled": true } } })
            }
            Self::ForColours => {
                json!({ "resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"] })
            }
        }
    }
}

/// Tells whether the page has axe already.
pub(super) const IS_THERE: &str = "return typeof window.axe === 'object'";

/// Runs axe over the page, with options.
pub(super) const RUN: &str = "
    const [options, done] = arguments;
    axe.run(document, options).then(
        found => done(found.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map(node => node.html + ' ' + (node.failureSummary || '')) }))),
        error => done(String(error)));";

/// Reads what it found.
pub(super) fn findings(answer: &Value) -> Vec<Finding> {
    let found = answer.as_array().unwrap_or_else(|| panic!("axe failed: {answer}"));
    found.iter().map(finding).collect()
}

fn finding(value: &Value) -> Finding {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let impact = match text("impact").as_str() {
        "critical" => Impact::Critical,
        "serious" => Impact::Serious,
        "moderate" => Impact::Moderate,
        _ => Impact::Minor,
    };
    let elements = value["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Finding { rule: text("id"), impact, help: text("help"), elements: elements.collect() }
}
