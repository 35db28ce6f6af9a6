//! How input is described.

use serde_json::Value;

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A text.
    Text,
    /// A text that is not empty, and what is said where it is.
    FilledText(&'static str),
    /// True or false.
    Flag,
    /// Nothing: JSON's null.
    Null,
    /// A whole number.
    Integer,
    /// A number in a range.
    Number {
        /// The least it may be.
        minimum: i64,
        /// The most it may be.
        maximum: i64,
    },
    /// One of several words.
    Choice(&'static [&'static str]),
    /// This word and no other.
    Word(&'static str),
    /// What any of these takes; the first that does decides.
    AnyOf(&'static [Shape]),
    /// A list of such values.
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
    /// What becomes of other keys.
    pub(crate) unknown: Unknown,
}

impl Object {
    /// Describes what a tool answers for programs. Other keys may come beside these.
    pub(crate) const fn answer(fields: &'static [Field]) -> Self {
        Self { fields, unknown: Unknown::Kept }
    }
}

/// What becomes of keys that an object does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// They are an issue.
    Refused,
    /// They are left out under client rules; under strict rules they are an issue.
    Dropped,
    /// They are kept as they are.
    Kept,
}

/// One field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Its key.
    pub(crate) name: &'static str,
    /// What it has to be.
    pub(crate) shape: Shape,
    /// Whether it has to be there.
    pub(crate) is_required: bool,
    /// What it is where it is left out.
    pub(crate) preset: Option<Preset>,
    /// What there is to say of it that its name does not.
    pub(crate) description: &'static str,
}

/// What a field is where it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// True or false.
    Flag(bool),
    /// A number.
    Number(i64),
    /// An empty text. The schema does not tell of it: who leaves the field out is told that it is missed in the tool's own words.
    Blank,
}

impl Field {
    /// Returns a field that has to be there.
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_required: true, preset: None, description: "" }
    }

    /// Returns a field that may be left out.
    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_required: false, preset: None, description: "" }
    }

    /// Returns a field that has a value of its own where it is left out. To zod it is always there, so it counts as required in
    /// the schema, though a call may leave it out.
    pub(crate) const fn preset(name: &'static str, shape: Shape, preset: Preset) -> Self {
        Self { name, shape, is_required: true, preset: Some(preset), description: "" }
    }

    /// Says something of the field.
    #[must_use]
    pub(crate) const fn saying(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}

impl Preset {
    /// Returns the value as JSON has it.
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::Flag(flag) => flag.into(),
            Self::Number(number) => number.into(),
            Self::Blank => "".into(),
        }
    }
}
