//! Moves tasks between lists, renames lists, and imports tasks of other programs.

use std::collections::HashMap;
use std::path::PathBuf;

use taskyard_core::dialect::foreign::Imported;
use taskyard_core::rules::moving::importing::{ImportPlan, Source, plan_import};
use taskyard_core::rules::moving::list_moves::{MergeWhich, plan_move};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Entry, ListId, Op, Revision, Status, Task, TaskId};

use super::create::made;
#[cfg(feature = "sqlite")]
use crate::machine::Binding;
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::{origin_of, put_exact_texts};
use crate::store::{HistoryQuery, Lookup, Snapshot, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// The result of moving tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Each task's old and new id.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The tasks as they are now, in the target list.
    pub tasks: Vec<Task>,
    /// The edges that could not be moved, each from the dependent to its blocker, by their old ids.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The tasks that are no longer part of another because only one of the two moved, by their old ids.
    pub(crate) dropped_parents: Vec<TaskId>,
}

impl Yard {
    /// Moves tasks between two lists with new numbers and rewritten edges, atomically for both lists.
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
        // No one works on these any more, which their new files would not show.
        let abandoned = if which == MergeWhich::Open { source.abandoned_tasks()? } else { Vec::new() };
        let outcome = self.transact_both(Op::Merge, from, into, |pair| {
            let tasks = pair.source().tasks()?;
            // The numbers change with the list, so a task that another agent holds must not move.
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
    /// Renames a list: every task moves with its number and exact contents, and the list's history moves with it,
    /// atomically for both lists. Returns the tasks. Fails with [`StoreError::ListExists`] if the new name has tasks or
    /// the history of another list. If the list already has that name, nothing changes.
    pub fn rename_list(&self, from: &ListId, into: &ListId) -> Result<Outcome<Vec<Task>>, Error> {
        if from == into && self.store().has(from)? {
            return Ok(Outcome::Done(Vec::new()));
        }
        // A transaction creates the target list, so refusals are determined first.
        if let Outcome::Refused(refusal) = self.may_rename_list(from, into)? {
            return Ok(Outcome::Refused(refusal));
        }
        let outcome = self.transact_both(Op::Rename, from, into, |pair| {
            let (newest, has_tasks) = (pair.target().revision(), holds_something(pair.target())?);
            self.refuse_taken_name(from, into, newest, has_tasks)?;
            refuse_unreadable(pair.source())?;
            let tasks = pair.source().tasks()?;
            self.respect_leases(pair.source(), &tasks)?;
            // Numbers used under the old name must not be reused under the new one.
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
                    // Without a change on both sides the history would not be moved.
                    pair.source().note_absent(&last)?;
                }
            }
            Ok(tasks)
        })?;
        Ok(outcome.map(|(tasks, _)| tasks))
    }

    /// Returns whether [`Yard::rename_list`] would succeed, judged without a lock.
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

    /// Returns whether a list without tasks, whose journal ends at this revision, has no history other than that of the
    /// list it was renamed to.
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
            // A database does not record this for a copy.
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

/// Refuses unreadable files: one would stay behind, and its number would be given to another task.
fn refuse_unreadable(list: &dyn Snapshot) -> Result<(), Halt> {
    match list.problems()?.into_iter().next() {
        Some(problem) => Err(problem.into_refusal().into()),
        None => Ok(()),
    }
}

impl Merged {
    /// Replaces the tasks by the committed ones, which may have got other numbers than they were staged under.
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

/// Who else relies on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedBy {
    /// The agents that work in a directory bound to it.
    Binding {
        /// The directory.
        directory: PathBuf,
    },
    /// The members of a team.
    Team {
        /// The name of the team.
        name: String,
    },
}

impl Yard {
    /// Returns who else relies on a list; `None` if no one is known to. `bindings` are those of this machine.
    #[cfg(feature = "sqlite")]
    pub fn shared_by(&self, list: &ListId, bindings: Vec<Binding>) -> Result<Option<SharedBy>, Error> {
        let is_bound = |binding: &Binding| ListId::new(binding.list.as_str()).is_ok_and(|bound| bound == *list);
        if let Some(binding) = bindings.into_iter().find(is_bound) {
            return Ok(Some(SharedBy::Binding { directory: binding.directory }));
        }
        let team = self.teams().map(|teams| teams.team_of(list)).transpose()?.flatten();
        Ok(team.map(|team| SharedBy::Team { name: team.name.to_string() }))
    }

    /// Returns another agent that currently holds a task of a list.
    pub fn somebody_at_work_on(&self, list: &ListId) -> Result<Option<AgentName>, Error> {
        let leases = self.on(list.clone()).live_leases()?;
        Ok(leases.into_iter().map(|lease| lease.agent).find(|agent| agent != self.actor()))
    }

    /// Returns the open tasks of another list, without recording anything about it.
    pub fn open_tasks_of(&self, list: &ListId) -> Result<Vec<Task>, Error> {
        let mut open = self.glance(list)?;
        open.retain(|task| MergeWhich::Open.moves(task));
        Ok(open)
    }
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportReport {
    /// What was created, changed and left, and what could not be imported.
    pub plan: ImportPlan,
    /// The commit; `None` if nothing had to be changed, or for a preview.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Imports tasks, all or none. Tasks imported from the same source before are updated, never duplicated.
    pub fn import(&self, imported: &Imported, source: &Source) -> Result<Outcome<ImportReport>, Error> {
        let outcome = self.transact(Op::Import, |txn, _| {
            let plan = self.judged(txn, imported, source)?;
            for task in &plan.created {
                txn.put_new(task.clone())?;
            }
            for task in &plan.updated {
                txn.put(task.clone())?;
            }
            Ok(plan)
        })?;
        Ok(outcome.map(|(plan, event)| match event {
            Some(event) => {
                let plan = with_tasks(plan, made(&event).collect());
                ImportReport { plan, revision: Some(event.revision) }
            }
            None => ImportReport { plan, revision: None },
        }))
    }

    /// Returns what an import would do, without importing anything.
    pub fn preview_import(&self, imported: &Imported, source: &Source) -> Result<Outcome<ImportReport>, Error> {
        let report = |plan| ImportReport { plan, revision: None };
        if !self.store().read(self.list_id())?.exists()? {
            let new_ids: Vec<TaskId> = (1..).map(TaskId::number).take(imported.tasks.len()).collect();
            return Ok(Outcome::Done(report(plan_import(&[], imported, source, &new_ids))));
        }
        match self.look_in_turn(|txn| Ok(self.judged(txn, imported, source)))? {
            Ok(plan) => Ok(Outcome::Done(report(plan))),
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
        }
    }

    fn judged(&self, txn: &dyn Txn, imported: &Imported, source: &Source) -> Result<ImportPlan, Halt> {
        // An imported task that is unreadable now would be imported a second time.
        let came = |task: &Task| source.id_of(task).is_some();
        if let Some(problem) =
            txn.problems()?.into_iter().find(|problem| problem.last_known.as_deref().is_some_and(came))
        {
            return Err(problem.into_refusal().into());
        }
        let tasks = txn.tasks()?;
        let new_ids = txn.new_ids(imported.tasks.len())?;
        let plan = plan_import(&tasks, imported, source, &new_ids);
        let here: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let changing: Vec<Task> =
            plan.updated.iter().filter_map(|task| here.get(&task.id)).map(|task| (*task).clone()).collect();
        self.respect_leases(txn, &changing)?;
        Ok(plan)
    }
}

/// Replaces the created tasks by the committed ones, which may have got other numbers than they were staged under.
fn with_tasks(mut plan: ImportPlan, made: Vec<Task>) -> ImportPlan {
    if made.len() != plan.created.len() {
        return plan;
    }
    let mut places: Vec<usize> = (0..made.len()).collect();
    places.sort_by(|one, two| plan.created[*one].id.cmp(&plan.created[*two].id));
    let mut given: HashMap<TaskId, TaskId> = HashMap::new();
    for (place, task) in places.into_iter().zip(made) {
        given.insert(plan.created[place].id.clone(), task.id.clone());
        plan.created[place] = task;
    }
    for (_, id) in &mut plan.mapping {
        if let Some(given) = given.get(id) {
            *id = given.clone();
        }
    }
    plan
}
