//! What a hook reads on stdin, specified in `docs/formats/hooks.md`.
//!
//! These are wire structs: they are written, never read. Running hooks is not their business.

mod event;
mod task_array;

pub use event::{Common, SubagentStopInput, TaskEventInput, Teammate, TeammateIdleInput};
pub use task_array::{ArrayEntry, Times, task_array};
