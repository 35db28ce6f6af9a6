//! Changes to a task: what they do, and which are allowed. Begin with `patching.rs` (the change of a field) and
//! `transitions.rs` (the change of a status).

pub mod editing;
pub mod notes;
pub mod numbering;
pub mod patching;
pub mod recurring;
pub mod transitions;
