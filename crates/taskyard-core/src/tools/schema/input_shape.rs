//! Shapes of tool inputs, and their JSON Schema.

use serde_json::{Map, Value, json};

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A string.
    Text,
    /// A non-empty string; contains the message for an empty one.
    FilledText(&'static str),
    /// A boolean.
    Flag,
    /// JSON null.
    Null,
    /// An integer.
    Integer,
    /// A number in a range.
    Number {
        /// The minimum.
        minimum: i64,
        /// The maximum.
        maximum: i64,
    },
    /// One of several words.
    Choice(&'static [&'static str]),
    /// Exactly this word.
    Word(&'static str),
    /// Any of these shapes; the first that matches is used.
    AnyOf(&'static [Shape]),
    /// An array of such values.
    List(&'static Shape),
    /// An object with any keys and values.
    Record,
    /// An object with these fields.
    Object(Object),
}

/// An object with named fields.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// The fields, in the order in which they are checked.
    pub(crate) fields: &'static [Field],
    /// How other keys are handled.
    pub(crate) unknown: Unknown,
}

impl Object {
    /// Describes the structured content of an answer. Other keys are allowed.
    pub(crate) const fn answer(fields: &'static [Field]) -> Self {
        Self { fields, unknown: Unknown::Kept }
    }
}

/// How unknown keys of an object are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// They are reported as an issue.
    Refused,
    /// Client rules drop them; strict rules report them as an issue.
    Dropped,
    /// They are kept.
    Kept,
}

/// One field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Whether it is required.
    pub(crate) is_required: bool,
    /// The default value.
    pub(crate) preset: Option<Preset>,
    /// What its name does not say.
    pub(crate) description: &'static str,
}

/// The default value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// A boolean.
    Flag(bool),
    /// A number.
    Number(i64),
    /// An empty string. It is not part of the schema: if the field is missing, the tool's own error message says so.
    Blank,
}

impl Field {
    /// Creates a required field.
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_required: true, preset: None, description: "" }
    }

    /// Creates an optional field.
    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_required: false, preset: None, description: "" }
    }

    /// Creates a field with a default. zod's output always contains it, so the schema lists it as required although a
    /// call may omit it.
    pub(crate) const fn preset(name: &'static str, shape: Shape, preset: Preset) -> Self {
        Self { name, shape, is_required: true, preset: Some(preset), description: "" }
    }

    /// Sets the description.
    #[must_use]
    pub(crate) const fn saying(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}

impl Preset {
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::Flag(flag) => flag.into(),
            Self::Number(number) => number.into(),
            Self::Blank => "".into(),
        }
    }
}

/// Returns the JSON Schema of an object.
///
/// Other keys are allowed only if they are kept. If the check drops them, the schema forbids them, so that a model
/// that follows it sends none.
pub(crate) fn json_schema(object: &Object) -> Value {
    let properties: Map<String, Value> = object
        .fields
        .iter()
        .map(|field| {
            let mut property = shape_schema(&field.shape);
            if !field.description.is_empty() {
                property["description"] = field.description.into();
            }
            if let Some(preset) = field.preset.filter(|preset| *preset != Preset::Blank) {
                property["default"] = preset.to_json();
            }
            (field.name.to_owned(), property)
        })
        .collect();
    let required: Vec<&str> = object.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = if object.unknown == Unknown::Kept { json!({}) } else { Value::Bool(false) };
    schema
}

fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::FilledText(_) => json!({ "type": "string", "minLength": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Null => json!({ "type": "null" }),
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Number { minimum, maximum } => json!({ "type": "number", "minimum": minimum, "maximum": maximum }),
        Shape::Choice(words) => json!({ "type": "string", "enum": words }),
        Shape::Word(word) => json!({ "type": "string", "const": word }),
        Shape::AnyOf(shapes) => json!({ "anyOf": shapes.iter().map(shape_schema).collect::<Vec<_>>() }),
        Shape::List(items) => json!({ "type": "array", "items": shape_schema(items) }),
        Shape::Record => json!({ "type": "object", "additionalProperties": {} }),
        Shape::Object(object) => json_schema(object),
    }
}
