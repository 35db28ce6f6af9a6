//! Moving tasks from one list to another.

use taskyard_core::rules::moving::merging::{MergeWhich, plan_move};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, ListId, Op, Revision, Status, Task, TaskId};

use super::create::made;
use super::exact_texts::{origin_of, put_exact_texts};
use super::halt::Halt;
use crate::store::{HistoryQuery, Lookup, Snapshot, StoreError};
use crate::{Error, Outcome, Yard};

/// Tasks that moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Each task's old and new id.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The tasks as they are now, in the list they came to.
    pub tasks: Vec<Task>,
    /// The edges that could not come along, each from the task that waited to the one it waited for, by their old ids.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The tasks that are no longer a part of another, because only one of the two moved, by their old ids.
    pub(crate) dropped_parents: Vec<TaskId>,
}

impl Yard {
    /// Moves tasks between two lists with new numbers and rewritten edges, on both lists or on neither.
    pub fn merge(&self, from: &ListId, into: &ListId, which: MergeWhich) -> Result<Outcome<Merged>, Error> {
        if from == into {
            return Ok(Outcome::Refused(Refusal::MergeIntoItself));
        }
        let leaving = self.store().read(from)?;
        if !leaving.exists()? {
            return Ok(Outcome::Refused(Refusal::NoSuchList { list: from.as_str().to_owned() }));
        }
        if !leaving.tasks()?.iter().any(|task| which.moves(task)) {
            return Ok(Outcome::Done(Merged::default()));
        }
        drop(leaving);
        let source = self.on(from.clone());
        source.return_ended_leases()?;
        // Nobody works on these any more, and their new files do not tell that.
        let abandoned = if which == MergeWhich::Open { source.abandoned_tasks()? } else { Vec::new() };
        let outcome = self.transact_both(Op::Merge, from, into, |pair| {
            let tasks = pair.source().tasks()?;
            // Numbers change with the list: no agent's work is moved away under its hands.
            let moving: Vec<Task> = tasks.iter().filter(|task| which.moves(task)).cloned().collect();
            self.respect_leases(pair.source(), &moving)?;
            let new_ids = pair.target().new_ids(moving.len())?;
            let plan = plan_move(&tasks, which, new_ids.into_iter(), self.rules());
            let mut arrived = Vec::with_capacity(plan.arriving.len());
            for (mut task, (old, new)) in plan.arriving.into_iter().zip(&plan.mapping) {
                if abandoned.contains(old) {
                    task.status = Status::Pending;
                }
                pair.target().put_new(task.clone())?;
                let Lookup::Found(found, image) = pair.target().find(new)? else {
                    arrived.push(task);
                    continue;
                };
                if let Some(origin) = origin_of(pair.source(), old, &image)? {
                    put_exact_texts(pair.target(), new, &origin)?;
                }
                arrived.push(*found);
            }
            for (old, _) in &plan.mapping {
                pair.source().remove(old)?;
            }
            for task in plan.staying {
                pair.source().put(task)?;
            }
            Ok(Merged {
                mapping: plan.mapping,
                tasks: arrived,
                dropped_edges: plan.dropped_edges.into_iter().map(|edge| (edge.task, edge.on)).collect(),
                dropped_parents: plan.dropped_parents,
            })
        })?;
        Ok(outcome.map(|(merged, [_, came])| match came {
            Some(came) => merged.with_tasks(made(&came).collect()),
            None => merged,
        }))
    }
}

impl Yard {
    /// Gives a list another name: every task moves with its number and its exact contents, and the history of the list comes along, on both
    /// lists or on neither. Returns the tasks. Fails with [`StoreError::ListExists`] if the new name has tasks, or the
    /// history of another list. A list that has the name already stays as it is.
    pub fn rename_list(&self, from: &ListId, into: &ListId) -> Result<Outcome<Vec<Task>>, Error> {
        if from == into && self.store().has(from)? {
            return Ok(Outcome::Done(Vec::new()));
        }
        // A transaction makes a place for the list, so what is refused is found out before.
        if let Outcome::Refused(refusal) = self.may_rename_list(from, into)? {
            return Ok(Outcome::Refused(refusal));
        }
        let outcome = self.transact_both(Op::Rename, from, into, |pair| {
            let (newest, has_tasks) = (pair.target().revision(), holds_something(pair.target())?);
            self.refuse_taken_name(from, into, newest, has_tasks)?;
            refuse_unreadable(pair.source())?;
            let tasks = pair.source().tasks()?;
            self.respect_leases(pair.source(), &tasks)?;
            // Numbers that were given out under the old name are not given out again under the new one.
            let last =
                pair.source().new_id()?.as_number().and_then(|next| next.checked_sub(1)).filter(|last| *last > 0);
            for task in &tasks {
                if let Lookup::Found(_, image) = pair.source().find(&task.id)? {
                    pair.target().put_new_image(&task.id, image)?;
                    pair.source().remove(&task.id)?;
                }
            }
            if let Some(last) = last.map(TaskId::number).filter(|last| !tasks.iter().any(|task| task.id == *last)) {
                pair.target().note_absent(&last)?;
                if tasks.is_empty() {
                    // Without a change on both sides the history would not come along.
                    pair.source().note_absent(&last)?;
                }
            }
            Ok(tasks)
        })?;
        Ok(outcome.map(|(tasks, _)| tasks))
    }

    /// Tells whether [`Yard::rename_list`] would give a list the other name, as far as a look tells.
    pub fn may_rename_list(&self, from: &ListId, into: &ListId) -> Result<Outcome<()>, Error> {
        if !self.store().has(from)? {
            return Ok(Outcome::Refused(Refusal::NoSuchList { list: from.as_str().to_owned() }));
        }
        self.on(from.clone()).return_ended_leases()?;
        let (leaving, target) = (self.store().read(from)?, self.store().read(into)?);
        match self.refuse_renaming((from, &*leaving), (into, &*target)) {
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
            Ok(()) => Ok(Outcome::Done(())),
        }
    }

    fn refuse_renaming(
        &self,
        (from, leaving): (&ListId, &dyn Snapshot),
        (into, target): (&ListId, &dyn Snapshot),
    ) -> Result<(), Halt> {
        self.refuse_taken_name(from, into, target.revision(), holds_something(target)?)?;
        refuse_unreadable(leaving)?;
        self.respect_leases(leaving, &leaving.tasks()?)
    }

    fn refuse_taken_name(&self, from: &ListId, into: &ListId, newest: Revision, has_tasks: bool) -> Result<(), Halt> {
        if has_tasks || !self.is_history_of(from, into, newest)? {
            let (list, store) = (into.as_str().to_owned(), "this store".to_owned());
            return Err(StoreError::ListExists { list, store }.into());
        }
        Ok(())
    }

    /// Tells whether a list without tasks, whose journal ends at this revision, has no history but what a list that it was renamed to has as
    /// well.
    fn is_history_of(&self, renamed: &ListId, former: &ListId, newest: Revision) -> Result<bool, StoreError> {
        let Some(before) = newest.0.checked_sub(1) else { return Ok(true) };
        let until = |last: u64| HistoryQuery {
            since: Revision(last.saturating_sub(1)),
            until: Some(Revision(last)),
            ..HistoryQuery::default()
        };
        let is_renaming = |entry: &Entry| entry.op == Op::Rename && entry.after.is_none();
        let entries = |list: &ListId, last: u64| {
            let mut entries = self.store().history(list, &until(last))?;
            // A database does not tell it of a copy.
            entries.iter_mut().for_each(|entry| entry.db_user = None);
            Ok::<_, StoreError>(entries)
        };
        let last = entries(former, newest.0)?;
        let (there, here) = (entries(former, before)?, entries(renamed, before)?);
        Ok(!last.is_empty() && last.iter().all(is_renaming) && !there.is_empty() && there == here)
    }
}

fn holds_something(list: &dyn Snapshot) -> Result<bool, StoreError> {
    Ok(!list.tasks()?.is_empty() || !list.problems()?.is_empty())
}

/// A file that no task can be read from would stay behind, and its number would be given to another task.
fn refuse_unreadable(list: &dyn Snapshot) -> Result<(), Halt> {
    match list.problems()?.into_iter().next() {
        Some(problem) => Err(problem.into_refusal().into()),
        None => Ok(()),
    }
}

impl Merged {
    /// Puts in the tasks that came, which may have got other numbers than they were put under.
    fn with_tasks(mut self, tasks: Vec<Task>) -> Self {
        if tasks.len() != self.tasks.len() || tasks.len() != self.mapping.len() {
            return self;
        }
        let mut places: Vec<usize> = (0..self.tasks.len()).collect();
        places.sort_by(|one, two| self.tasks[*one].id.cmp(&self.tasks[*two].id));
        for (place, task) in places.into_iter().zip(tasks) {
            self.mapping[place].1 = task.id.clone();
            self.tasks[place] = task;
        }
        self
    }
}
