//! Shapes of tool inputs: one description both checks an input as the client does and generates its JSON Schema. Begin
//! with `input_shape.rs`.

mod input_checking;
mod input_shape;

pub(crate) use input_checking::Step;
pub use input_checking::{Issue, Received, Wrong, check};
pub use input_shape::Object;
pub(crate) use input_shape::{Field, Preset, Shape, Unknown, json_schema};
