//! Steering a stream from another thread than the one that reads it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::AgentName;

use crate::process::Waker;
use crate::store::Moved;

/// Steers a stream while another thread waits for it.
#[derive(Clone)]
pub struct StreamControl {
    pub(super) waker: Waker,
    pub(super) inboxes: SharedAgents,
    /// Has the inboxes looked at; none where messages are never told.
    pub(super) look_into_inboxes: Option<Moved>,
}

/// The agents whose messages are told.
pub(super) type SharedAgents = Arc<Mutex<BTreeSet<AgentName>>>;

impl StreamControl {
    /// Ends the stream: a thread that waits for it is told that nothing more will come.
    pub fn stop(&self) {
        self.waker.stop();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.waker.is_stopped()
    }

    /// Tells of the messages of these agents from now on, and of no others; of those that are new whatever waits is told. Who they are
    /// is asked in turn, so that of two calls at once the later one decides by the later answer.
    pub fn follow_inboxes(&self, agents: impl FnOnce() -> BTreeSet<AgentName>) {
        let mut followed = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        *followed = agents();
        drop(followed);
        self.look_into_inboxes.iter().for_each(|look| look());
    }
}

impl fmt::Debug for StreamControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamControl").field("waker", &self.waker).finish_non_exhaustive()
    }
}
