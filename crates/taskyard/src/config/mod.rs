//! `taskyard.toml`: what people set once instead of typing it. The format is specified in `docs/formats/config.md`.
//!
//! This module reads the two files it is given the places of. It does not look for them in the environment, and it runs
//! nothing that they name: hooks and checks come with the file they were found in, so that the code that runs them can
//! ask first whether that file is trusted.

mod error;
mod layer;
mod layers;
mod ownership;
mod project;
mod quantity;
mod reading;
mod settings;
mod warning;

pub use error::ConfigError;
pub use layer::{Layer, Origin};
pub use layers::Config;
pub(crate) use ownership::{Ownership, ownership};
pub use project::Project;
pub(crate) use project::TrustError;
pub use quantity::{BadQuantity, parse_duration, parse_lifetime, parse_size};
pub(crate) use settings::{Board, BoardKeys, Claims, Display, Gc, HookInput, Jobs, Journal, Kinds, Mcp, Merge, Time};
pub use settings::{Hook, Marks, RuleWord, Settings, WhenUnset};
pub use warning::ConfigWarning;
