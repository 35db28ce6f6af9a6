//! What all workers share, and what ends a command that takes too long.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::hooks::Hooks;
use taskyard::process::Stop;

use super::{Order, WorkEvent, WorkListener};

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

    /// Tells whether the whole work was asked to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.asked().is_cancelled()
    }

    /// Tells of hooks that did not run as written.
    pub(super) fn tell_warnings(&self) {
        let warnings = self.yard.hooks().map(Hooks::take_warnings);
        warnings.into_iter().flatten().for_each(|warning| self.tell(WorkEvent::Warning(warning)));
    }
}

/// Ends a command that takes longer than it may. Dropped before, it does nothing.
///
/// It has a thread of its own: the one that reads the command's output may be held up by a terminal that takes no more lines.
pub(super) struct Timer {
    limit: Duration,
    has_rung: Arc<AtomicBool>,
    _cancel: Sender<()>,
}

impl Timer {
    /// Begins to count; `None` if there is no limit, or no thread could be started.
    pub(super) fn start(limit: Option<Duration>, stop: &Stop) -> Option<Self> {
        let (limit, stop, has_rung) = (limit?, stop.clone(), Arc::new(AtomicBool::new(false)));
        let (cancel, cancelled) = mpsc::channel::<()>();
        let rings = Arc::clone(&has_rung);
        let work = move || {
            if cancelled.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                rings.store(true, Ordering::Release);
                stop.ask();
            }
        };
        let thread = thread::Builder::new().name("time limit".into()).spawn(work);
        thread.inspect_err(|error| tracing::warn!(%error, "a command runs without its time limit")).ok()?;
        Some(Self { limit, has_rung, _cancel: cancel })
    }

    /// Returns the limit if the command was ended because of it.
    pub(super) fn exceeded(&self) -> Option<Duration> {
        self.has_rung.load(Ordering::Acquire).then_some(self.limit)
    }
}
