//! Shows one task with its context, and reads the journal.

use taskyard_core::rules::changes::patching::makes;
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::rules::looking::query::{ListSurroundings, Query, Surroundings, Times};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, Event, Lease, Op, Revision, Task, TaskId, Timestamp};

use super::put_back::recent;
use super::reading::Reading;
use crate::store::{HistoryBackwards, HistoryPages, HistoryQuery, Store, StoreError, UnreadableTask};
use crate::{Error, Outcome, Yard};

/// A task with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The task.
    pub task: Task,
    /// The open tasks that block it.
    pub open_blockers: Vec<Task>,
    /// The tasks that it blocks.
    pub dependents: Vec<Task>,
    /// Its parts, by number.
    pub subtasks: Vec<Task>,
    /// Its newest journal entry.
    pub changed: Option<Entry>,
    /// The lease of the agent that holds it, with its current state.
    pub lease: Option<(Lease, LeaseState)>,
    /// Why its file cannot be read, if `task` is its last known state.
    pub problem: Option<UnreadableTask>,
}

impl Yard {
    /// Returns the requested entries, or none if the journal is damaged: the task is shown nevertheless.
    fn entries_if_known(&self, query: &HistoryQuery) -> Result<Vec<Entry>, Error> {
        match self.history(query) {
            Err(Error::Store(error)) if error.is_of_memory() => Ok(Vec::new()),
            entries => entries,
        }
    }

    /// Returns the entry that created a task; `None` if the journal does not have it or is damaged.
    pub fn making_of(&self, id: &TaskId) -> Result<Option<Entry>, Error> {
        // The caller has seen the task, so its creation is recorded unless it appeared this instant. Only files change without a record.
        if self.store().care().is_some()
            && let Ok(mut pages) = HistoryPages::of_what_is_recorded(self.store(), self.list_id(), making(id))
            && let Some(Ok(mut entries)) = pages.next()
            && !entries.is_empty()
        {
            return Ok(entries.pop());
        }
        Ok(self.entries_if_known(&making(id))?.pop())
    }

    /// Returns one task without its context, and why its file cannot be read if this is the task's last known state.
    pub fn task(&self, id: &TaskId) -> Result<Outcome<(Task, Option<UnreadableTask>)>, Error> {
        if self.store().care().is_some() {
            // Only other programs that write to files lose notes, and the journal shows that.
            return Ok(self.show(id)?.map(|shown| (shown.task, shown.problem)));
        }
        let Reading { tasks, problems, .. } = self.look()?;
        Ok(self.find_in(&tasks, problems, id).map_or_else(Outcome::Refused, Outcome::Done))
    }

    /// Returns a task among those that were read, or the refusal.
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
        // Notes that another program lost are restored before the reader misses them.
        let put_back = self.put_back_notes_lost_in(&recent).unwrap_or_else(|error| {
            tracing::warn!(%error, "lost notes are not put back");
            false
        });
        Ok(if put_back { self.show_as_it_is(id)?.0 } else { shown })
    }

    /// Returns one task in full and its newest entries, oldest first.
    fn show_as_it_is(&self, id: &TaskId) -> Result<(Outcome<Shown>, Vec<Entry>), Error> {
        let around = self.look_around(id)?;
        let Reading { tasks, problems, leases, recorded, .. } = around.map_or_else(|| self.look(), Ok)?;
        let (task, problem) = match self.find_in(&tasks, problems, id) {
            Ok(found) => found,
            Err(refusal) => return Ok((Outcome::Refused(refusal), Vec::new())),
        };
        let key = task.id.clone();
        let those = |wanted: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| wanted(task)).cloned().collect();
        let recorded = recorded.filter(|_| self.store().care().is_some());
        let recent = self.entries_if_known(&HistoryQuery { until: recorded, ..recent(&key) })?;
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

/// Returns the parts of the journal that showing a task reads, for stores that can prefetch them.
pub fn journal_of_shown(id: &TaskId) -> Vec<HistoryQuery> {
    vec![recent(&TaskId::stored(id.file_stem())), making(id)]
}

/// Returns a query for the entry that created a task.
fn making(id: &TaskId) -> HistoryQuery {
    HistoryQuery {
        task: Some(TaskId::stored(id.file_stem())),
        ops: Op::ALL.into_iter().filter(|op| makes(*op)).collect(),
        only_arrivals: true,
        newest: Some(1),
        ..HistoryQuery::default()
    }
}

impl Yard {
    /// Returns the journal of the list, oldest entry first.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<Entry>, Error> {
        let entries = self.store().history(self.list_id(), query)?;
        // Reading may have discovered a stale write; reapplying the lost change is part of the history.
        if self.try_to_put_back_stale_writes() {
            return Ok(self.store().history(self.list_id(), query)?);
        }
        Ok(entries)
    }

    /// Returns the newest revision before a time, by the timestamps in the journal.
    pub fn revision_before(&self, moment: Timestamp) -> Result<Revision, Error> {
        for page in self.backwards(HistoryQuery::default()) {
            let page = page?;
            if let Some(entry) = page.iter().rev().find(|entry| entry.at < moment) {
                return Ok(entry.revision);
            }
        }
        Ok(Revision::default())
    }

    /// Reads the journal of the list in pages, oldest entry first, up to the newest revision now. For callers that read
    /// much of it.
    pub fn history_in_pages(&self, query: HistoryQuery) -> Result<HistoryPages<'_, dyn Store + '_>, Error> {
        // Reading may discover a stale write; reapplying the lost change is part of the history.
        let pages = self.pages(query.clone())?;
        Ok(if self.try_to_put_back_stale_writes() { self.pages(query)? } else { pages })
    }

    pub(super) fn pages(&self, query: HistoryQuery) -> Result<HistoryPages<'_, dyn Store + '_>, StoreError> {
        HistoryPages::of(self.store(), self.list_id(), query)
    }

    /// Reads a part of the journal in pages, newest first.
    pub(super) fn backwards(&self, query: HistoryQuery) -> HistoryBackwards<'_, dyn Store + '_> {
        HistoryBackwards::of(self.store(), self.list_id(), query)
    }
}

/// A task as it was in an entry, with the list as it is now.
struct InEntry<'a> {
    list: Option<&'a ListSurroundings>,
    created: Option<Timestamp>,
    at: Timestamp,
}

impl Surroundings for InEntry<'_> {
    fn now(&self) -> Timestamp {
        self.at
    }

    fn is_ready(&self, task: &Task) -> bool {
        self.list.is_some_and(|list| list.is_ready(task))
    }

    fn is_blocked(&self, task: &Task) -> bool {
        self.list.is_some_and(|list| list.is_blocked(task))
    }

    fn times(&self, _: &Task) -> Option<Times> {
        self.created.map(|created| Times { created, updated: self.at })
    }
}

impl Yard {
    /// Returns the entries of a commit about tasks that match a query after it, or matched it before they were removed.
    /// The rest of the list and the journal are read only if the query needs them.
    pub fn entries_about(&self, event: &Event, query: &Query) -> Result<Vec<Entry>, Error> {
        if query.is_empty() {
            return Ok(event.entries.clone());
        }
        let list = match query.asks_for_others() {
            true => {
                let tasks = self.store().read(self.list_id())?.tasks()?;
                Some(ListSurroundings::of(&tasks, self.now()?.wall, self.rules()))
            }
            false => None,
        };
        let mut about = Vec::new();
        for entry in &event.entries {
            let image = entry.after.as_ref().or(entry.before.as_ref());
            let Some(task) = image.and_then(|image| image.task(&entry.task).ok()) else { continue };
            let created = if query.asks_for_times() { self.first_told_of(&entry.task)? } else { None };
            if query.is_true_of(&task, &InEntry { list: list.as_ref(), created, at: entry.at }) {
                about.push(entry.clone());
            }
        }
        Ok(about)
    }
}
