//! What the journal knows about tasks: undo, restore, retention and overwritten changes. Begin with `vanishing.rs`.

pub mod replacing;
pub mod restoring;
pub mod retention;
pub mod taking_back;
#[cfg(test)]
mod taking_back_tests;
pub mod undoing;
pub mod vanishing;
