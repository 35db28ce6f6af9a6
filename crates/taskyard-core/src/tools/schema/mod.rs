//! What a tool takes, described once: the same description checks input as the client does and is written as JSON Schema.

mod checking;
mod issue;
mod json_schema;
mod shape;

pub use checking::check;
pub(crate) use issue::Step;
pub use issue::{Issue, Received, Wrong};
pub(crate) use json_schema::json_schema;
pub use shape::Object;
pub(crate) use shape::{Field, Preset, Shape, Unknown};
