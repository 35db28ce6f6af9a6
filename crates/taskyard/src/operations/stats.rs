//! Statistics of a list, a summary for agents, and the list's past.

use taskyard_core::rules::claims::readiness::{Brief, brief};
use taskyard_core::rules::looking::past::{AgentAtWork, ListPast, TaskTimes, agents_at_work, time_in_state};
use taskyard_core::rules::looking::statistics::{Estimate, Stats, Summary, summarize, tally, time_in_progress};
use taskyard_core::{Revision, Task, Timestamp};

use super::reading::Reading;
use crate::store::{HistoryQuery, HistorySource as _, StoreError};
use crate::{Error, Yard};

impl Yard {
    /// Returns the statistics of the list.
    pub fn stats(&self) -> Result<Stats, Error> {
        let Reading { tasks, problems, revision, gone, .. } = self.look()?;
        let now = self.now()?.wall;
        let estimates = match self.estimates(&tasks, now) {
            // The tasks can be counted without the journal.
            Err(error) if error.is_of_memory() => Vec::new(),
            estimates => estimates?,
        };
        Ok(Stats { gone, estimates, ..tally(&tasks, problems.len(), revision, now, self.rules()) })
    }

    /// Compares the estimates of tasks with their time in progress. Reads the journal of tasks with an estimate only.
    fn estimates(&self, tasks: &[Task], now: Timestamp) -> Result<Vec<Estimate>, StoreError> {
        let mut estimates = Vec::new();
        for task in tasks.iter().filter(|task| !task.is_internal()) {
            let Some(expected) = task.estimate() else { continue };
            let query = HistoryQuery { task: Some(task.id.clone()), ..HistoryQuery::default() };
            let entries = self.store().history(self.list_id(), &query)?;
            let in_progress = time_in_progress(&entries, now);
            let is_completed = !task.status.is_open();
            estimates.push(Estimate { task: task.id.clone(), is_completed, expected, in_progress });
        }
        Ok(estimates)
    }
}

impl Yard {
    /// Returns the list's counts. Nothing else is examined, and other programs' changes may stay unrecorded.
    pub fn summary(&self) -> Result<Summary, Error> {
        let found = self.store().care().and_then(|care| care.summary(self.list_id(), self.rules()));
        match found {
            Some(summary) => Ok(summary),
            None => Ok(summarize(&self.store().read(self.list_id())?.unpack()?.tasks, self.rules())),
        }
    }
}

impl Yard {
    /// Returns what an agent needs to know about the list when it starts to work.
    pub fn brief(&self) -> Result<Brief, Error> {
        let Reading { tasks, gone, .. } = self.look()?;
        Ok(Brief { gone, ..brief(&tasks, self.now()?.wall, self.rules()) })
    }
}

/// The past of a list as far as it was read. A later call reads only what is new.
#[derive(Clone, Debug, Default)]
pub struct KnownPast {
    past: ListPast,
    until: Revision,
}

/// The past of a list up to a point in time, and the list at that time.
#[derive(Clone, Debug)]
pub struct PastAndPresent {
    /// The state of each task over time.
    pub past: ListPast,
    /// The tasks at that time.
    pub tasks: Vec<Task>,
    /// The point in time.
    pub now: Timestamp,
}

/// How long tasks were in progress, by agent and by task.
#[derive(Clone, Debug)]
pub struct TimeSpent {
    /// The time of each agent.
    pub agents: Vec<AgentAtWork>,
    /// The time of each task, longest first.
    pub tasks: Vec<TaskTimes>,
}

impl PastAndPresent {
    /// Adds up how long tasks were in progress, by agent and by task.
    pub fn time_spent(&self) -> TimeSpent {
        let Self { past, tasks, now } = self;
        let agents = agents_at_work(past, past.begun().unwrap_or(*now), *now);
        TimeSpent { agents, tasks: time_in_state(past, tasks, *now, usize::MAX).longest }
    }
}

impl Yard {
    /// Returns the past of the list according to its journal. Reads only entries that `known` does not include.
    pub fn past(&self, known: &mut KnownPast) -> Result<PastAndPresent, Error> {
        let Reading { tasks, .. } = self.look()?;
        let now = self.now()?.wall;
        match self.learn(known) {
            // The tasks can be shown without the journal.
            Err(error) if error.is_of_memory() => *known = KnownPast::default(),
            learnt => learnt?,
        }
        let mut past = known.past.clone();
        past.note_present(&tasks, now);
        Ok(PastAndPresent { past, tasks, now })
    }

    fn learn(&self, known: &mut KnownPast) -> Result<(), StoreError> {
        // A journal that ends before the known part is a different one.
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
