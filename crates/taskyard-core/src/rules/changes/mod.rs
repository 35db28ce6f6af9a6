//! What a change makes of a task, and whether it is allowed.

pub mod editing;
pub mod making;
pub mod notes;
pub mod numbering;
pub mod patching;
pub mod rebasing;
pub mod renumbering;
pub mod tagging;
pub mod transitions;
pub mod verifying;
