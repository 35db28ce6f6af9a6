//! What waits for agents, looked up only when it may have changed: an agent's every call asks.

use std::sync::{Mutex, PoisonError};

use taskyard_core::{AgentName, ListId};

use super::stamp::Stamp;
use super::{Notice, Notices};
use crate::jobs::JobError;

/// What waits for the agents of one list.
#[derive(Debug)]
pub struct NoticeBoard {
    notices: Notices,
    list: ListId,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    waiting: Vec<Notice>,
}

impl NoticeBoard {
    /// Returns the board of a list.
    pub fn new(notices: Notices, list: ListId) -> Self {
        Self { notices, list, known: Mutex::new(None) }
    }

    /// Returns where the notices are kept.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Tells whether something may wait for an agent; costs next to nothing.
    pub fn may_have_any(&self, agent: &AgentName) -> bool {
        // Somebody is just looking: that may take a moment, and whoever asks this has none.
        let Ok(known) = self.known.try_lock() else { return true };
        known.as_ref().is_none_or(|known| {
            known.waiting.iter().any(|notice| notice.agent == *agent) || known.stamp != Stamp::of(self.notices.data())
        })
    }

    /// Returns what waits for an agent, oldest first.
    pub fn waiting(&self, agent: &AgentName) -> Result<Vec<Notice>, JobError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Before looking, so that a change in between is looked at next time.
        let stamp = Stamp::of(self.notices.data());
        let is_settled = stamp.is_settled();
        let waiting = match known.take().filter(|known| known.stamp == stamp) {
            Some(known) => known.waiting,
            None => self.notices.pending_on(&self.list)?,
        };
        let theirs = waiting.iter().filter(|notice| notice.agent == *agent).cloned().collect();
        *known = is_settled.then_some(Known { stamp, waiting });
        Ok(theirs)
    }
}
