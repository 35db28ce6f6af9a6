//! The rules: what was read comes in, a decision goes out. They are the specification of Taskyard.

pub mod health;
pub mod listing;
pub mod numbering;
pub mod patching;
pub mod refusal;
