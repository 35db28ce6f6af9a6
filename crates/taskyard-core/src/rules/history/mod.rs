//! What the journal knows of tasks: what can be taken back, and what is not there any more.

pub mod edges_lost;
pub mod elapsed;
pub mod presence;
pub mod removed;
pub mod replacing;
pub mod restoring;
pub mod restoring_copies;
pub mod retention;
pub mod taking_back;
pub mod undoing;
pub mod vanishing;
