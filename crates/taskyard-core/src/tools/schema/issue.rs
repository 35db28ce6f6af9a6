//! What is wrong with an input, and how zod 4 writes it down.

use std::fmt;

use serde_json::{Map, Value, json};

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The way to the value.
    pub(crate) path: Vec<Step>,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a field.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// What can be wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is of another type.
    Type {
        /// The type it should have.
        expected: &'static str,
        /// The one it has.
        received: Received,
    },
    /// It has keys it should not have.
    UnknownKeys {
        /// Those keys.
        keys: Vec<String>,
        /// The keys it may have; `None` under client rules, whose words name no other key.
        allowed: Option<Vec<&'static str>>,
    },
    /// It cannot be given together with this other parameter, because one of the two would be ignored. The schema allows both.
    Clash {
        /// The other parameter.
        with: &'static str,
    },
    /// It is none of the words.
    Value(Vec<&'static str>),
    /// It is nothing that one of several shapes takes; what each found wrong.
    Union(Vec<Vec<Issue>>),
    /// The word that says which of several shapes it has is none of them.
    Discriminator(&'static str),
    /// It is too small.
    TooSmall {
        /// What it is.
        origin: &'static str,
        /// The least it may be.
        minimum: i64,
        /// What is said of it.
        message: String,
    },
    /// It is too big.
    TooBig {
        /// What it is.
        origin: &'static str,
        /// The most it may be.
        maximum: i64,
        /// What is said of it.
        message: String,
    },
}

/// What a value is, in JavaScript's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Not there.
    Undefined,
    /// Null.
    Null,
    /// True or false.
    Boolean,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl Received {
    /// Says what a value is; none is undefined.
    pub(crate) const fn of(value: Option<&Value>) -> Self {
        match value {
            None => Self::Undefined,
            Some(Value::Null) => Self::Null,
            Some(Value::Bool(_)) => Self::Boolean,
            Some(Value::Number(_)) => Self::Number,
            Some(Value::String(_)) => Self::String,
            Some(Value::Array(_)) => Self::Array,
            Some(Value::Object(_)) => Self::Object,
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        })
    }
}

impl Issue {
    /// Returns the issue of a parameter that cannot be given together with another one.
    pub(crate) fn clash(name: &str, with: &'static str) -> Self {
        Self { path: vec![Step::Key(name.to_owned())], wrong: Wrong::Clash { with } }
    }

    /// Returns the way to the value as the client writes it: `todos[1].status`.
    pub(crate) fn place(&self) -> String {
        let mut place = String::new();
        for (number, step) in self.path.iter().enumerate() {
            match step {
                Step::Index(index) => place.push_str(&format!("[{index}]")),
                Step::Key(key) if number == 0 => place.push_str(key),
                Step::Key(key) => place.push_str(&format!(".{key}")),
            }
        }
        place
    }

    /// Returns what zod says of it.
    pub(crate) fn message(&self) -> String {
        self.wrong.message()
    }

    /// Returns the issue as zod writes it, keys in its order.
    pub fn to_json(&self) -> Value {
        let mut object = self.wrong.to_json();
        let path = self.path.iter().map(|step| match step {
            Step::Key(key) => json!(key),
            Step::Index(index) => json!(index),
        });
        object.insert("path".to_owned(), path.collect());
        object.insert("message".to_owned(), self.message().into());
        Value::Object(object)
    }
}

impl Wrong {
    fn to_json(&self) -> Map<String, Value> {
        let object = match self {
            Self::Type { expected, .. } => json!({ "expected": expected, "code": "invalid_type" }),
            Self::UnknownKeys { keys, .. } => json!({ "code": "unrecognized_keys", "keys": keys }),
            Self::Clash { .. } => json!({ "code": "custom" }),
            Self::Value(words) => json!({ "code": "invalid_value", "values": words }),
            Self::Union(branches) => {
                let told = |issues: &Vec<Issue>| issues.iter().map(Issue::to_json).collect::<Value>();
                let errors: Value = branches.iter().map(told).collect();
                json!({ "code": "invalid_union", "errors": errors })
            }
            Self::Discriminator(key) => json!({
                "code": "invalid_union", "errors": [], "note": "No matching discriminator", "discriminator": key,
            }),
            Self::TooSmall { origin, minimum, .. } => {
                json!({ "origin": origin, "code": "too_small", "minimum": minimum, "inclusive": true })
            }
            Self::TooBig { origin, maximum, .. } => {
                json!({ "origin": origin, "code": "too_big", "maximum": maximum, "inclusive": true })
            }
        };
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Type { expected, received } => format!("Invalid input: expected {expected}, received {received}"),
            Self::UnknownKeys { keys, .. } => {
                let plural = if keys.len() > 1 { "s" } else { "" };
                format!("Unrecognized key{plural}: {}", quoted(keys, ", "))
            }
            Self::Clash { with } => format!("cannot be given together with `{with}`"),
            Self::Value(words) if words.len() == 1 => format!("Invalid input: expected {}", quoted(words, "")),
            Self::Value(words) => format!("Invalid option: expected one of {}", quoted(words, "|")),
            Self::Union(_) | Self::Discriminator(_) => "Invalid input".to_owned(),
            Self::TooSmall { message, .. } | Self::TooBig { message, .. } => message.clone(),
        }
    }
}

/// Returns words between quotes. zod does not escape what is in them.
fn quoted(words: &[impl AsRef<str>], between: &str) -> String {
    words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect::<Vec<_>>().join(between)
}
