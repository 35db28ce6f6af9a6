//! The file around the tasks.

use serde_json::{Map, Value};

use crate::dialect::native::Unreadable;
use crate::dialect::stated_version::{NewerVersion, stated_version};
use crate::json_text::{self, is_more_than_read, print_over};

/// The version that is written.
pub const VERSION: u64 = 2;

/// Why a file is no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    /// It is no JSON object.
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
    /// It has no array of tasks.
    #[error("`tasks` is missing or no array")]
    NoTasks,
    /// A newer program wrote it.
    #[error(transparent)]
    TooNew(#[from] NewerVersion),
}

/// A file of tasks: the root object with everything in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    root: Map<String, Value>,
    version: u64,
    /// What was read, where it says something that our strings do not hold.
    read: Option<String>,
}

impl Document {
    /// Returns a document without tasks.
    pub fn new() -> Self {
        let mut root = Map::new();
        root.insert("tasks".to_owned(), Value::Array(Vec::new()));
        root.insert("version".to_owned(), VERSION.into());
        Self { root, version: VERSION, read: None }
    }

    /// Reads a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadDocument> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Unreadable::Empty.into());
        }
        let text = std::str::from_utf8(bytes).map_err(|error| Unreadable::NotUtf8 { at: error.valid_up_to() })?;
        // Other programs' editors put it there; here it does no harm.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: Value = json_text::from_str(text).map_err(|error| Unreadable::NotJson { why: error.to_string() })?;
        let Value::Object(root) = value else {
            return Err(Unreadable::NotAnObject { found: "another value" }.into());
        };
        // Before anything else: a newer version may keep its tasks elsewhere.
        let version = stated_version(&root, VERSION)?;
        if !root.get("tasks").is_some_and(Value::is_array) {
            return Err(BadDocument::NoTasks);
        }
        let read = is_more_than_read(text.as_bytes()).then(|| text.to_owned());
        Ok(Self { root, version, read })
    }

    /// Returns the version it was read in; 1 if it states none.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns what stands in the array of tasks.
    pub fn elements(&self) -> &[Value] {
        self.root.get("tasks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the same with another array of tasks, changed at this moment, in the version that is written.
    #[must_use]
    pub fn with_elements(mut self, elements: Vec<Value>, last_updated: &str) -> Self {
        self.root.insert("tasks".to_owned(), Value::Array(elements));
        self.root.insert("version".to_owned(), VERSION.into());
        self.root.insert("last_updated".to_owned(), last_updated.into());
        self.version = VERSION;
        self
    }

    /// Writes the file: two spaces of indentation, no newline at the end. Halves of surrogate pairs and writings of numbers
    /// that were read and not replaced are written again.
    pub fn print(&self) -> String {
        let pretty = |root: &Value| serde_json::to_string_pretty(root).expect("a JSON value always has a text form");
        match &self.read {
            Some(read) => print_over(Some(read.as_bytes()), &Value::Object(self.root.clone()), pretty),
            None => serde_json::to_string_pretty(&self.root).expect("a JSON value always has a text form"),
        }
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}
