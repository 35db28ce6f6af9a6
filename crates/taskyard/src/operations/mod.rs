//! The verbs: one file each, every one a method of [`crate::Yard`]. An operation opens a transaction, hands what it read
//! to a rule of the core, and writes what the rule decided.

mod outcome;

pub use outcome::Outcome;
