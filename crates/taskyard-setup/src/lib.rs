//! Registering Taskyard with an agent, by editing the agent's own configuration, and undoing that.
//!
//! `targets` lists the files of each agent and our entries in them; [`config_edit`] edits their text. A change is planned
//! first, so that it can be shown, and then applied.

mod agent;
mod applying;
pub mod config_edit;
mod planning;
mod targets;

pub use agent::{Agent, Scope, SetupError, SetupOptions, Wish};
pub use applying::Registration;
pub use planning::{Change, Outcome, Plan, plan};
pub use targets::{SKILL, users_own_status_line};
