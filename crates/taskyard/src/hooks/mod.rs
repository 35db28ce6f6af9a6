//! The client's hooks and the checks that a task may require: finding, trusting and running them, and reading their
//! answers. The format is specified in `docs/formats/hooks.md`; begin with `running_hooks.rs`. No lock of the list is held
//! while hooks run, and this module changes no task: the operations apply the answers.

mod hook_catalogue;
mod hook_settings;
mod hook_turns;
mod running_hooks;

pub use hook_catalogue::HookSetup;
pub(crate) use hook_settings::HookTurn;
pub use hook_settings::{HOOK_TURN, Hook, HookSource, HookWarning, task_list_in};
pub use running_hooks::Hooks;
pub(crate) use running_hooks::{Found, HookQuestion, line};
pub use taskyard_core::dialect::hook_input::Teammate;
