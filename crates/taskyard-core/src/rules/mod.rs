//! The rules: what was read comes in, a decision goes out. They are the specification of Taskyard.
//!
//! Each folder is a subject; `refusal.rs` has the words of everything that a rule can forbid.

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

#[cfg(test)]
mod samples;
