//! The rules: what was read comes in, a decision goes out. They are the specification of Taskyard.

pub mod dependencies;
pub mod gate;
pub mod health;
pub mod list_choice;
pub mod listing;
pub mod numbering;
pub mod ordering;
pub mod patching;
pub mod rebasing;
pub mod refusal;
pub mod transitions;
