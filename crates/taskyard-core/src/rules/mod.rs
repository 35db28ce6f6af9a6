//! The rules: what was read comes in, a decision goes out. They are the specification of Taskyard.

pub mod numbering;
pub mod rebasing;
pub mod refusal;
