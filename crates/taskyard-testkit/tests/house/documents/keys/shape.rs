//! What a page says of a JSON value.

use std::collections::BTreeMap;

use serde_json::Value;

/// The keys of an object and of what is in it. An array has the shape of its elements.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Shape {
    pub(super) keys: BTreeMap<String, Self>,
    /// What the values are where the keys are data, such as ids.
    pub(super) values: Option<Box<Self>>,
    /// The shapes or rows that are written down elsewhere.
    pub(super) named: Vec<String>,
}

impl Shape {
    /// Returns the shape of a value that stands in a page as an example; the text `a task` stands for a task.
    pub(super) fn of(example: &Value) -> Self {
        let mut shape = Self::default();
        shape.add(example);
        shape
    }

    /// Adds what another page or row says.
    pub(super) fn merge(&mut self, other: Self) {
        for (key, shape) in other.keys {
            self.keys.entry(key).or_default().merge(shape);
        }
        self.values = self.values.take().or(other.values);
        self.named.extend(other.named);
    }

    fn add(&mut self, example: &Value) {
        match example {
            Value::Array(elements) => elements.iter().for_each(|element| self.add(element)),
            Value::Object(object) => {
                for (key, value) in object {
                    self.keys.entry(key.clone()).or_default().add(value);
                }
            }
            Value::String(text) => self.named.extend(text.strip_prefix("a ").map(str::to_owned)),
            _ => {}
        }
    }
}
