//! What the journal says about tasks: undo, restore, retention, and changes that another program overwrote. Begin with
//! `vanishing.rs`, and with `taking_back.rs` for stale writes.

pub mod replacing;
pub mod restoring;
pub mod retention;
pub mod taking_back;
#[cfg(test)]
mod taking_back_tests;
pub mod undoing;
pub mod vanishing;
