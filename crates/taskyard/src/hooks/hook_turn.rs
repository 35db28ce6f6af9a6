//! The right to hand the whole list to hooks.

use std::fs::File;

/// The variable by which a hook, and everything it starts, knows the turn it runs in.
pub const HOOK_TURN: &str = "TASKYARD_HOOK_TURN";

/// The right to hand the whole list to hooks. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct HookTurn {
    pub(super) name: String,
    /// None where it is the turn of a hook above us, which has not ended.
    pub(super) _file: Option<File>,
}

impl HookTurn {
    /// Returns what tells a hook that it runs in this turn.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}
