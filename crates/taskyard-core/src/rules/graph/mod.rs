//! What waits for what, and what is a part of what.

pub mod chains;
pub mod circles;
pub(crate) mod deferring;
pub mod dependencies;
pub mod open_tasks;
pub(crate) mod order;
pub(crate) mod part_tree;
pub mod parts;
pub(crate) mod positions;
pub mod reconnecting;
