//! Registering Taskyard with an agent, by editing the agent's own configuration, and undoing that.
//!
//! One file per agent, or for several of one form, says which files it reads and what of ours belongs in them; how text is edited is decided in
//! [`config_edit`]. A change is planned first, so that it can be shown, and then applied.

mod agent;
mod applying;
pub mod config_edit;
mod planning;
mod targets;

pub use agent::{Agent, Scope, SetupError, SetupOptions, Wish};
pub use applying::Registration;
pub use planning::{Change, Outcome, Plan, plan};
pub use targets::{SKILL, users_own_status_line};
