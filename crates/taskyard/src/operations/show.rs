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
        Ok(self.entries_if_known(&making(id))?.pop())
    }

    /// Returns one task, without what surrounds it, and why its file cannot be read if this is the last known state of the task.
    pub fn task(&self, id: &TaskId) -> Result<Outcome<(Task, Option<UnreadableTask>)>, Error> {
        if self.store().care().is_some() {
            // Only other programs that write to files lose notes, and the journal tells of that.
            return Ok(self.show(id)?.map(|shown| (shown.task, shown.problem)));
        }
        let Reading { tasks, problems, .. } = self.look()?;
        Ok(self.find_in(&tasks, problems, id).map_or_else(Outcome::Refused, Outcome::Done))
    }

    /// Returns a task of those that were read, or why it cannot be had.
    fn find_in(
        &self,
        tasks: &[Task],
        problems: Vec<UnreadableTask>,
        id: &TaskId,
    ) -> Result<(Task, Option<UnreadableTask>), Refusal> {
        let key = TaskId::stored(id.file_stem());
        let problem = problems.into_iter().find(|problem| problem.task == key && !self.rules().is_client());
        match tasks.iter().find(|task| task.id == key) {
            Some(task) => Ok((task.clone(), problem.filter(|problem| problem.last_known.as_deref() == Some(task)))),
            None => Err(problem.map_or(Refusal::NoSuchTask { task: id.clone() }, UnreadableTask::into_refusal)),
        }
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
        let around = self.look_around(id)?;
        let Reading { tasks, problems, leases, .. } = around.map_or_else(|| self.look(), Ok)?;
        let (task, problem) = match self.find_in(&tasks, problems, id) {
            Ok(found) => found,
            Err(refusal) => return Ok((Outcome::Refused(refusal), Vec::new())),
        };
        let key = task.id.clone();
        let those = |wanted: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| wanted(task)).cloned().collect();
        let recent = self.entries_if_known(&recent(&key))?;
        let shown = Shown {
            open_blockers: those(&|other| other.status.is_open() && task.blocked_by.contains(&other.id)),
            dependents: those(&|other| other.blocked_by.contains(&key) || task.blocks.contains(&other.id)),
            subtasks: those(&|other| other.parent().as_ref() == Some(&key)),
            changed: recent.last().cloned(),
            lease: leases.into_iter().find(|(lease, _)| holds(lease, &task)),
            problem,
            task,
        };
        Ok((Outcome::Done(shown), recent))
    }
}

/// Returns the parts of the journal that showing a task reads, for a store that is told what to expect.
pub fn journal_of_shown(id: &TaskId) -> Vec<HistoryQuery> {
    vec![recent(&TaskId::stored(id.file_stem())), making(id)]
}

/// Asks for the entry by which a task was made.
fn making(id: &TaskId) -> HistoryQuery {
    HistoryQuery {
        task: Some(TaskId::stored(id.file_stem())),
        ops: Op::ALL.into_iter().filter(|op| makes(*op)).collect(),
        only_arrivals: true,
        newest: Some(1),
        ..HistoryQuery::default()
    }
}
