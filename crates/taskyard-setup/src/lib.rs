//! Registering Taskyard with an agent, by editing the agent's own configuration, and undoing that.
//!
//! One file per agent, or for several of one form, says which files it reads and what of ours belongs in them; how text is edited is decided in
//! [`config_edit`]. A change is planned first, so that it can be shown, and then applied.

mod agent;
mod amp;
mod applying;
mod change;
mod claude;
mod codex;
pub mod config_edit;
mod copilot;
mod cursor;
mod error;
mod gemini;
mod goose;
mod mcp_json;
mod opencode;
mod planning;
mod record;
mod setup_options;
mod standing;
mod target;
mod targets;
mod vscode;
mod zed;

pub use agent::{Agent, Scope, Wish};
pub use change::{Change, Outcome, Plan};
pub use claude::{SKILL, users_own_status_line};
pub use error::SetupError;
pub use planning::plan;
pub use setup_options::SetupOptions;
pub use standing::Registration;
