//! The ways a task is written down, one module each. A dialect owns its wire form; the nouns know no JSON.

pub mod document;
pub mod export;
pub mod foreign;
pub mod hook_input;
pub mod inbox;
pub mod macf;
pub mod native;
pub(crate) mod plan;
pub mod teaching;
pub mod team_file;
pub mod transcript;

mod carrying;
pub mod message_protocol;

pub use carrying::NewerVersion;
