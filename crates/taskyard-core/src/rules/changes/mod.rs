//! Changes to a task: their effects, and which are allowed. Begin with `patching.rs`.

pub mod editing;
pub mod notes;
pub mod numbering;
pub mod patching;
pub mod recurring;
pub mod transitions;
