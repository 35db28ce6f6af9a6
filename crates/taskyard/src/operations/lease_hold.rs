//! What an agent has of a task while it works on it.

use taskyard_core::rules::leases::fate::{Fate, judge_fate, matters};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::{Revision, TaskId, Token};

use crate::store::HistoryQuery;
use crate::{Error, Outcome, Yard};

/// A task that an agent has under a lease, as long as the lease counts. Clones hold the same task.
#[derive(Clone, Debug)]
pub struct Hold {
    /// A yard that acts as the agent and proves the lease.
    pub yard: Yard,
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The revision since which the agent has the task. What happened to it before is not looked at.
    pub since: Revision,
}

impl Hold {
    /// Tells whether the lease still counts, without renewing it.
    pub fn is_ours(&self) -> Result<bool, Error> {
        let list = self.yard.store().read(self.yard.list_id())?;
        let Some(lease) = list.leases()?.into_iter().find(|lease| lease.task == self.task) else { return Ok(false) };
        let is_held = list.find(&self.task)?.task().is_some_and(|task| holds(&lease, &task));
        Ok(is_held && lease.token == self.token && self.yard.judge(&lease)?.is_alive())
    }

    /// Renews the lease; returns what became of the task if that is refused.
    pub fn renew(&self) -> Result<Option<Fate>, Error> {
        match self.yard.renew(&self.task, self.token, None)? {
            Outcome::Done(_) => Ok(None),
            Outcome::Refused(_) => self.fate().map(Some),
        }
    }

    /// Returns what became of the task after its lease ceased to count.
    pub fn fate(&self) -> Result<Fate, Error> {
        let task = self.yard.store().read(self.yard.list_id())?.find(&self.task)?.task();
        let query = HistoryQuery { task: Some(self.task.clone()), since: self.since, ..HistoryQuery::default() };
        let mut since = Vec::new();
        for page in self.yard.history_in_pages(query)? {
            since.extend(page?.into_iter().filter(matters));
        }
        Ok(judge_fate(task.as_ref(), &since, self.yard.actor()))
    }
}
