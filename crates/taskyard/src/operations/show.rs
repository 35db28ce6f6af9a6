//! Looking at one task and what surrounds it.

use taskyard_core::rules::changes::making::makes;
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, Lease, Op, Task, TaskId};

use super::put_back::recent;
use super::reading::Reading;
use crate::store::{HistoryQuery, UnreadableTask};
use crate::{Error, Outcome, Yard};

/// A task and what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The task.
    pub task: Task,
    /// The open tasks it waits for.
    pub open_blockers: Vec<Task>,
    /// The tasks that wait for it.
    pub dependents: Vec<Task>,
    /// Its parts, by number.
    pub subtasks: Vec<Task>,
    /// Its newest journal entry.
    pub changed: Option<Entry>,
    /// The lease of the agent that works on it, and its state now.
    pub lease: Option<(Lease, LeaseState)>,
    /// Why its file cannot be read, if this is the last known state of the task.
    pub problem: Option<UnreadableTask>,
}

impl Yard {
    /// Returns the entries that are asked for; none where the journal cannot be relied on, for the task is shown all the same.
    fn entries_if_known(&self, query: &HistoryQuery) -> Result<Vec<Entry>, Error> {
        match self.history(query) {
            Err(Error::Store(error)) if error.is_of_memory() => Ok(Vec::new()),
            entries => entries,
        }
    }

    /// Returns the entry by which a task was made; none where the journal does not know, or cannot be relied on.
    pub fn making_of(&self, id: &TaskId) -> Result<Option<Entry>, Error> {
        let query = HistoryQuery {
            task: Some(TaskId::stored(id.file_stem())),
            ops: Op::ALL.into_iter().filter(|op| makes(*op)).collect(),
            only_arrivals: true,
            newest: Some(1),
            ..HistoryQuery::default()
        };
        Ok(self.entries_if_known(&query)?.pop())
    }

    /// Returns one task in full.
    pub fn show(&self, id: &TaskId) -> Result<Outcome<Shown>, Error> {
        let (shown, recent) = self.show_as_it_is(id)?;
        // Notes that another program lost come back before the reader misses them.
        let put_back = self.put_back_notes_lost_in(&recent).unwrap_or_else(|error| {
            tracing::warn!(%error, "lost notes are not put back");
            false
        });
        Ok(if put_back { self.show_as_it_is(id)?.0 } else { shown })
    }

    /// Returns one task in full and its newest entries, oldest first.
    fn show_as_it_is(&self, id: &TaskId) -> Result<(Outcome<Shown>, Vec<Entry>), Error> {
        let Reading { tasks, problems, leases, .. } = self.look()?;
        let key = TaskId::stored(id.file_stem());
        let problem = problems.into_iter().find(|problem| problem.task == key && !self.rules().is_client());
        let Some(task) = tasks.iter().find(|task| task.id == key).cloned() else {
            let absent = Refusal::NoSuchTask { task: id.clone() };
            return Ok((Outcome::Refused(problem.map_or(absent, UnreadableTask::into_refusal)), Vec::new()));
        };
        let those = |wanted: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| wanted(task)).cloned().collect();
        let recent = self.entries_if_known(&recent(&key))?;
        let shown = Shown {
            open_blockers: those(&|other| other.status.is_open() && task.blocked_by.contains(&other.id)),
            dependents: those(&|other| other.blocked_by.contains(&key) || task.blocks.contains(&other.id)),
            subtasks: those(&|other| other.parent().as_ref() == Some(&key)),
            changed: recent.last().cloned(),
            lease: leases.into_iter().find(|(lease, _)| holds(lease, &task)),
            problem: problem.filter(|problem| problem.last_known.as_deref() == Some(&task)),
            task,
        };
        Ok((Outcome::Done(shown), recent))
    }
}
