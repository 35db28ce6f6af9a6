//! What a tool takes, described once: the same description checks input as the client does and is written as JSON Schema.

mod checking;
mod issue;
mod json_schema;
mod shape;

pub use checking::check;
pub use issue::{Issue, Received, Step, Wrong};
pub use json_schema::json_schema;
pub use shape::{Field, Object, Preset, Shape, Unknown};
