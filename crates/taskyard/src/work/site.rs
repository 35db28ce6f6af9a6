//! What all workers share.

use std::collections::HashSet;
use std::sync::Mutex;

use taskyard_core::TaskId;

use super::{Order, WorkEvent, WorkListener};
use crate::Yard;
use crate::hooks::Hooks;
use crate::process::Stop;

/// What all workers share.
pub(super) struct Site {
    pub(super) yard: Yard,
    pub(super) order: Order,
    pub(super) stop: Stop,
    pub(super) listener: WorkListener,
    /// The tasks whose last attempt a `SubagentStop` hook blocked.
    pub(super) blocked: Mutex<HashSet<TaskId>>,
}

impl Site {
    /// Tells the listener.
    pub(super) fn tell(&self, event: WorkEvent) {
        (self.listener)(event);
    }

    /// Tells of hooks that did not run as written.
    pub(super) fn tell_warnings(&self) {
        let warnings = self.yard.hooks().map(Hooks::take_warnings);
        warnings.into_iter().flatten().for_each(|warning| self.tell(WorkEvent::Warning(warning)));
    }
}
