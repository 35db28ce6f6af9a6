//! The ways a task is written down, one module each. A dialect owns its wire form; the nouns know no JSON.

pub mod document;
pub mod export;
pub mod foreign;
pub mod hook_input;
pub mod inbox;
pub mod macf;
pub mod native;
pub mod task_notification;
pub mod teaching;
pub mod team_file;
pub mod transcript;

mod carrying;
mod elements;
mod stated_version;

pub use stated_version::NewerVersion;
