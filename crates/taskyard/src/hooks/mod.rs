//! The client's hooks, and the checks a task may demand: finding them, asking whether they may run, running them, and saying
//! what they answered. The format is specified in `docs/formats/hooks.md`.
//!
//! Hooks run with no lock of the list held. This module changes no task: what an answer means for one is the operations' business.

mod asking;
mod catalogue;
mod checks;
mod hook;
mod hook_turn;
mod running;
mod settings_file;
mod setup;
mod taking_turns;
mod warning;

pub use asking::Hooks;
pub(crate) use asking::{Found, HookQuestion, line};
pub use hook::{Hook, HookSource};
pub use hook_turn::HOOK_TURN;
pub(crate) use hook_turn::HookTurn;
pub use settings_file::task_list_in;
pub use setup::HookSetup;
pub use taskyard_core::dialect::hook_input::Teammate;
pub use warning::HookWarning;
