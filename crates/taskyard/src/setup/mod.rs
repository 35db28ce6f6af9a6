//! Registering Taskyard with an agent, by editing the agent's own configuration, and undoing that.
//!
//! One file per agent says which files it reads and what of ours belongs in them; how text is edited is decided in
//! [`taskyard_core::config_edit`]. A change is planned first, so that it can be shown, and then applied.

mod agent;
mod applying;
mod change;
mod claude;
mod codex;
mod cursor;
mod error;
mod gemini;
mod places;
mod planning;
mod record;
mod target;
mod vscode;

pub use agent::{Agent, Scope};
pub use change::{Change, Outcome, Plan};
pub use claude::SKILL;
pub use error::SetupError;
pub use places::SetupPlaces;
pub use planning::{Wish, plan};
