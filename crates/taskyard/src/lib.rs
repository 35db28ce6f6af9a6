//! Claude Code's task lists as a library: the same files, the same locks, and nothing ever lost.
//!
//! A [`Store`] keeps lists; a [`Yard`] is a store with a list, rules, an acting agent and listeners, and every verb is a
//! method on it. The library never prints, prompts or reads the environment.

pub mod config;
pub mod events;
pub mod machine;
pub mod operations;
pub mod store;

mod error;
mod yard;

pub use error::Error;
pub use operations::Outcome;
pub use store::{Store, StoreError};
pub use taskyard_core as core;
pub use yard::Yard;
