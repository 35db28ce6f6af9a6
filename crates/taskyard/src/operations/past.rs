//! What became of a list over time.

use taskyard_core::rules::looking::past::{AgentAtWork, ListPast, TaskTimes, agents_at_work, time_in_state};
use taskyard_core::{Revision, Task, Timestamp};

use super::reading::Reading;
use crate::store::{HistoryQuery, HistorySource as _, StoreError};
use crate::{Error, Yard};

/// The past of a list as far as it was read, for a caller that asks again: then only what is new is read.
#[derive(Clone, Debug, Default)]
pub struct KnownPast {
    past: ListPast,
    until: Revision,
}

/// The past of a list up to a moment, and the list at that moment.
#[derive(Clone, Debug)]
pub struct PastAndPresent {
    /// Which state each task was in, from when until when.
    pub past: ListPast,
    /// The tasks there are.
    pub tasks: Vec<Task>,
    /// The moment.
    pub now: Timestamp,
}

/// How long agents had tasks in progress.
#[derive(Clone, Debug)]
pub struct TimeSpent {
    /// The agents.
    pub agents: Vec<AgentAtWork>,
    /// The tasks, those that took longest first.
    pub tasks: Vec<TaskTimes>,
}

impl PastAndPresent {
    /// Adds up how long agents had tasks in progress.
    pub fn time_spent(&self) -> TimeSpent {
        let Self { past, tasks, now } = self;
        let agents = agents_at_work(past, past.begun().unwrap_or(*now), *now);
        TimeSpent { agents, tasks: time_in_state(past, tasks, *now, usize::MAX).longest }
    }
}

impl Yard {
    /// Returns what became of the list over time, as its journal has it. What is known already is not read again.
    pub fn past(&self, known: &mut KnownPast) -> Result<PastAndPresent, Error> {
        let Reading { tasks, .. } = self.look()?;
        let now = self.now()?.wall;
        match self.learn(known) {
            // The tasks are there all the same.
            Err(error) if error.is_of_memory() => *known = KnownPast::default(),
            learnt => learnt?,
        }
        let mut past = known.past.clone();
        past.note_present(&tasks, now);
        Ok(PastAndPresent { past, tasks, now })
    }

    fn learn(&self, known: &mut KnownPast) -> Result<(), StoreError> {
        // A journal that ends earlier than what is known of it is another one.
        if self.store().newest(self.list_id())? < known.until {
            *known = KnownPast::default();
        }
        for page in self.pages(HistoryQuery { since: known.until, ..HistoryQuery::default() })? {
            for entry in page? {
                known.past.note(&entry);
                known.until = entry.revision;
            }
        }
        Ok(())
    }
}
