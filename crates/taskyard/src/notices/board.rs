//! What waits for agents, looked up only when it may have changed: an agent's every call asks.

use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{AgentName, ListId};

use super::{Notice, NoticeError, Notices};

/// What waits for the agents of one list.
#[derive(Debug)]
pub struct NoticeBoard {
    notices: Arc<dyn Notices>,
    list: ListId,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    version: u64,
    waiting: Vec<Notice>,
}

impl NoticeBoard {
    /// Returns the board of a list.
    pub fn new(notices: Arc<dyn Notices>, list: ListId) -> Self {
        Self { notices, list, known: Mutex::new(None) }
    }

    /// Returns where the notices are kept.
    pub fn notices(&self) -> &dyn Notices {
        &*self.notices
    }

    /// Tells whether something may wait for an agent; costs next to nothing.
    pub fn may_have_any(&self, agent: &AgentName) -> bool {
        // Another thread is just looking: that may take a moment, and the caller has none.
        let Ok(known) = self.known.try_lock() else { return true };
        known.as_ref().is_none_or(|known| {
            known.waiting.iter().any(|notice| notice.agent == *agent) || self.notices.version() != Some(known.version)
        })
    }

    /// Returns what waits for an agent, oldest first.
    pub fn waiting(&self, agent: &AgentName) -> Result<Vec<Notice>, NoticeError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Before looking, so that a change in between is looked at next time.
        let version = self.notices.version();
        let waiting = match known.take().filter(|known| Some(known.version) == version) {
            Some(known) => known.waiting,
            None => self.notices.waiting(&self.list)?,
        };
        let theirs = waiting.iter().filter(|notice| notice.agent == *agent).cloned().collect();
        *known = version.map(|version| Known { version, waiting });
        Ok(theirs)
    }
}
