//! The rules of Taskyard: pure functions that take what was read and return a decision. They do no I/O.
//!
//! Each folder is one subject. Begin with `refusal.rs`, which lists everything that a rule can refuse.

pub mod agents;
pub mod changes;
pub mod claims;
pub mod graph;
pub mod health;
pub mod history;
pub mod hooks;
pub mod leases;
pub mod lists;
pub mod looking;
pub mod moving;
pub mod refusal;
pub mod teams;
pub mod worktrees;

#[cfg(test)]
mod samples;
