//! Something on a page.

use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::DriverError;
use super::session::Session;

/// The name under which the standard passes elements around.
const KEY: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Something on a page, until the page takes it away.
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

    /// Returns what it is, as people hear it who do not see it.
    pub fn role(&self) -> String {
        self.word("computedrole")
    }

    /// Returns what it is called, as people hear it who do not see it.
    pub fn name(&self) -> String {
        self.word("computedlabel")
    }

    /// Returns an attribute; none where it has no such.
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
