//! Finds missing tasks and restores them, from the journal or from a backup.

use std::collections::HashSet;
use std::path::PathBuf;

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::reconnecting::{Reconnected, reconnect, reconnect_remembering};
use taskyard_core::rules::history::replacing::{Replacements, under_number};
use taskyard_core::rules::history::restoring::{
    CopyFate, EdgesLost, NumbersNow, ToldByNewest, by_number, told_by_newest,
};
use taskyard_core::rules::history::vanishing::{Absence, Gone, KeptIn, Removed, gone};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, Image, ListId, Op, Revision, Task, TaskId};

use crate::operations::depend::refuse_circles_through;
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::put_exact_texts;
use crate::store::{HistoryQuery, LastEntry, ListInfo, Lookup, StoreError, Txn, UnreadableTask};
use crate::{Error, Outcome, Yard, system};

/// A task that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restorable {
    /// The task in its last state.
    pub task: Task,
    /// Why it is absent.
    pub absence: Absence,
    /// The entry that removed it. If no reader has noticed the removal yet, the last entry in which it existed.
    pub removed: Entry,
}

/// Which tasks to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreWhich {
    /// All of them.
    All,
    /// The named ones.
    Some(Vec<TaskId>),
}

/// The result of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The restored tasks as they are now.
    pub tasks: Vec<Task>,
    /// The edges that could not be restored, each from the dependent to its blocker.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// Whether something was restored and the list still has no open task. The client clears such a list.
    pub nothing_is_open: bool,
    /// The commit; `None` if there was nothing to restore.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Returns the missing tasks by number: those that another program removed or replaced by different ones, and those
    /// that an undo of a restore took away. Tasks deleted on purpose are not included.
    pub fn restorable(&self) -> Result<Vec<Restorable>, Error> {
        self.absent_for(&[Absence::Missing, Absence::Replaced])
    }

    /// Returns the missing tasks and those that were deleted on purpose, by number.
    pub fn restorable_with_deleted(&self) -> Result<Vec<Restorable>, Error> {
        self.absent_for(&[Absence::Missing, Absence::Replaced, Absence::Deleted])
    }

    /// Restores missing tasks with their numbers and edges, in one commit. If another task now has a number, the
    /// restored task gets a new one. Tasks removed on purpose are not restored, and are refused if named.
    pub fn restore(&self, which: RestoreWhich) -> Result<Outcome<Restored>, Error> {
        let reasons = [Absence::Missing, Absence::Replaced];
        self.bring_back_from(&reasons, &reasons, &which)
    }

    /// Also restores tasks that were deleted on purpose and, if they are named, tasks that moved to another list or
    /// whose creation was undone.
    pub fn restore_with_deleted(&self, which: RestoreWhich) -> Result<Outcome<Restored>, Error> {
        let reasons = [Absence::Missing, Absence::Replaced, Absence::Deleted];
        let by_name = [&reasons[..], &[Absence::Moved, Absence::Renumbered, Absence::Unmade]].concat();
        self.bring_back_from(&reasons, &by_name, &which)
    }

    fn absent_for(&self, reasons: &[Absence]) -> Result<Vec<Restorable>, Error> {
        let list = self.store().read(self.list_id())?;
        let removed = self.removed_for(reasons, &list.tasks()?, &list.problems()?)?.into_iter();
        Ok(removed.map(|Removed { task, absence, entry, .. }| Restorable { task, absence, removed: entry }).collect())
    }

    /// Returns the tasks that the list, as it was just read, no longer has: the named ones whatever the reason, or all
    /// that are absent for one of the reasons.
    fn removed_of_those(
        &self,
        which: &RestoreWhich,
        reasons: &[Absence],
        tasks: &[Task],
        problems: &[UnreadableTask],
    ) -> Result<Vec<Removed>, StoreError> {
        match which {
            RestoreWhich::All => self.removed_for(reasons, tasks, problems),
            RestoreWhich::Some(ids) => {
                let names = ids.iter().map(|id| TaskId::stored(id.file_stem())).collect();
                self.removed_of(&names, &names_of(tasks, problems))
            }
        }
    }

    /// Returns the edges that other tasks lost because these tasks were absent.
    fn edges_lost(&self, removed: &[Removed]) -> Result<Vec<Edge>, StoreError> {
        let mut lost = EdgesLost::of(removed);
        let Some(first) = lost.first() else { return Ok(Vec::new()) };
        let since = Revision(first.0.saturating_sub(1));
        for page in self.pages(HistoryQuery { since, ops: EdgesLost::OPS.to_vec(), ..HistoryQuery::default() })? {
            page?.iter().for_each(|entry| lost.add(entry));
        }
        Ok(lost.into_edges())
    }

    fn bring_back_from(
        &self,
        reasons: &[Absence],
        reasons_by_name: &[Absence],
        which: &RestoreWhich,
    ) -> Result<Outcome<Restored>, Error> {
        // Reading first may record other programs' changes in the journal, and avoids creating a list for nothing.
        let list = self.store().read(self.list_id())?;
        if !list.exists()? && self.removed_of_those(which, reasons, &list.tasks()?, &list.problems()?)?.is_empty() {
            return Ok(match which {
                RestoreWhich::Some(ids) if !ids.is_empty() => {
                    Outcome::Refused(Refusal::NoSuchTask { task: ids[0].clone() })
                }
                RestoreWhich::All | RestoreWhich::Some(_) => Outcome::Done(Restored::default()),
            });
        }
        drop(list);
        let outcome = self.transact(Op::Restore, |txn, _| {
            let present = txn.tasks()?;
            let removed = self.removed_of_those(which, reasons, &present, &txn.problems()?)?;
            let chosen = match which {
                RestoreWhich::All => removed,
                RestoreWhich::Some(ids) => named(removed, ids, reasons_by_name, txn)?,
            };
            let replaced = chosen.iter().filter(|removed| removed.is_replaced()).count();
            let mut new_ids = txn.new_ids(replaced)?.into_iter();
            let remembered = self.edges_lost(&chosen)?;
            let mut arrivals: Vec<Task> = Vec::with_capacity(chosen.len());
            for removed in chosen {
                let new_id = if removed.is_replaced() { new_ids.next() } else { None };
                arrivals.push(match new_id {
                    Some(id) => {
                        let task = under_number(&removed.task, &id);
                        txn.put_new(task.clone())?;
                        put_exact_texts(txn, &id, &removed.image)?;
                        task
                    }
                    None => {
                        txn.put_new_image(&removed.task.id, removed.image.clone())?;
                        removed.task
                    }
                });
            }
            let Reconnected { changed, dropped } =
                reconnect_remembering(&present, &arrivals, &remembered, self.rules());
            for task in changed {
                txn.put(task)?;
            }
            if !self.rules().is_client() {
                refuse_circles_through(txn, &arrivals)?;
            }
            let mut tasks = Vec::with_capacity(arrivals.len());
            for task in arrivals {
                tasks.push(txn.find(&task.id)?.task().unwrap_or(task));
            }
            let is_open = |task: &Task| task.status.is_open() && !task.is_internal();
            let nothing_is_open = !tasks.is_empty() && !tasks.iter().chain(&present).any(is_open);
            Ok((tasks, dropped, nothing_is_open))
        })?;
        Ok(outcome.map(|((tasks, dropped, nothing_is_open), event)| Restored {
            tasks,
            nothing_is_open,
            dropped_edges: dropped.into_iter().map(|edge| (edge.task, edge.on)).collect(),
            revision: event.map(|event| event.revision),
        }))
    }
}

/// Returns the named tasks if each of them can be restored for these reasons; otherwise refuses.
fn named(chosen: Vec<Removed>, ids: &[TaskId], reasons: &[Absence], list: &dyn Txn) -> Result<Vec<Removed>, Halt> {
    let known: HashSet<&TaskId> = chosen.iter().map(|removed| &removed.task.id).collect();
    if let Some(id) = ids.iter().find(|id| !known.contains(&TaskId::stored(id.file_stem()))) {
        return Err(match list.find(id)? {
            Lookup::Found(..) => Refusal::NotRemoved { task: id.clone() }.into(),
            Lookup::Missing => Refusal::NoSuchTask { task: id.clone() }.into(),
            Lookup::Unreadable(problem) => problem.into_refusal().into(),
        });
    }
    if let Some(meant) = chosen.iter().find(|removed| !reasons.contains(&removed.absence)) {
        return Err(Refusal::NotMissing { task: meant.task.id.clone(), absence: meant.absence }.into());
    }
    Ok(chosen)
}

/// The reasons for which a task is absent on purpose.
const MEANT: [Absence; 4] = [Absence::Deleted, Absence::Moved, Absence::Renumbered, Absence::Unmade];

/// A copy of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskCopy {
    pub(crate) task: Task,
    /// The exact contents of its file, if known.
    pub(crate) image: Option<Image>,
}

/// Which copies to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiesWanted {
    /// Those whose task was not deleted on purpose since.
    Missing,
    /// Also those whose task was deleted on purpose.
    WithDeleted,
}

/// The result of restoring copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiesRestored {
    /// The restored tasks as they are now.
    pub tasks: Vec<Task>,
    /// How many copies equal the task in the list.
    pub same: usize,
    /// Copies whose number is taken by something else, which is left unchanged.
    pub different: Vec<TaskId>,
    /// Copies that are not restored because an agent deleted, moved or undid the task on purpose since.
    pub deleted: Vec<TaskId>,
    /// The edges that could not be restored, each from the dependent to its blocker.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The commit; `None` if nothing was restored.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Returns what restoring copies would do, without restoring any.
    pub(crate) fn look_at_copies(&self, copies: &[TaskCopy], wanted: CopiesWanted) -> Result<CopiesRestored, Error> {
        let list = self.store().read(self.list_id())?;
        let (chosen, mut restored) = self.choose_copies(copies, wanted, &list.tasks()?, &list.problems()?)?;
        restored.tasks = chosen.into_iter().map(|copy| copy.task.clone()).collect();
        Ok(restored)
    }

    /// Restores the copies whose numbers are free, with their edges, in one commit. Existing tasks are not changed,
    /// except at the other ends of edges.
    pub(crate) fn restore_copies(
        &self,
        copies: &[TaskCopy],
        wanted: CopiesWanted,
    ) -> Result<Outcome<CopiesRestored>, Error> {
        self.restore_judged(copies, wanted, |_| Ok(()))
    }

    /// Restores copies that were named: if one of them cannot be restored, none is.
    pub(crate) fn restore_named_copies(
        &self,
        copies: &[TaskCopy],
        wanted: CopiesWanted,
    ) -> Result<Outcome<CopiesRestored>, Error> {
        let by_name = |fate: (&TaskCopy, CopyFate)| match fate {
            (_, CopyFate::Returns) => Ok(()),
            (copy, CopyFate::Same | CopyFate::Different) => Err(Refusal::NotRemoved { task: copy.task.id.clone() }),
            (copy, CopyFate::Meant(absence)) => Err(Refusal::NotMissing { task: copy.task.id.clone(), absence }),
        };
        self.restore_judged(copies, wanted, by_name)
    }

    fn restore_judged(
        &self,
        copies: &[TaskCopy],
        wanted: CopiesWanted,
        judge: impl Fn((&TaskCopy, CopyFate)) -> Result<(), Refusal>,
    ) -> Result<Outcome<CopiesRestored>, Error> {
        // Reading first may record other programs' changes in the journal, and avoids creating a list for nothing.
        let looked = self.look_at_copies(copies, wanted)?;
        if looked.tasks.is_empty() && looked.same + looked.different.len() + looked.deleted.len() == 0 {
            return Ok(Outcome::Done(looked));
        }
        let outcome = self.transact(Op::Restore, |txn, _| {
            let present = txn.tasks()?;
            let (chosen, mut restored) = self.choose_judged(copies, wanted, &present, &txn.problems()?, &judge)?;
            let arrivals: Vec<Task> = chosen.iter().map(|copy| copy.task.clone()).collect();
            for copy in chosen {
                match &copy.image {
                    Some(image) => txn.put_new_image(&copy.task.id, image.clone())?,
                    None => txn.put_new(copy.task.clone())?,
                }
            }
            let Reconnected { changed, dropped } = reconnect(&present, &arrivals, self.rules());
            for task in changed {
                txn.put(task)?;
            }
            if !self.rules().is_client() {
                refuse_circles_through(txn, &arrivals)?;
            }
            for task in arrivals {
                restored.tasks.push(txn.find(&task.id)?.task().unwrap_or(task));
            }
            restored.dropped_edges = dropped.into_iter().map(|edge| (edge.task, edge.on)).collect();
            Ok(restored)
        })?;
        Ok(outcome.map(|(restored, event)| CopiesRestored { revision: event.map(|event| event.revision), ..restored }))
    }

    fn choose_copies<'a>(
        &self,
        copies: &'a [TaskCopy],
        wanted: CopiesWanted,
        tasks: &[Task],
        problems: &[UnreadableTask],
    ) -> Result<(Vec<&'a TaskCopy>, CopiesRestored), StoreError> {
        match self.choose_judged(copies, wanted, tasks, problems, &|_| Ok(())) {
            Ok(chosen) => Ok(chosen),
            Err(Halt::Failed(error)) => Err(error),
            // This judge never refuses.
            Err(Halt::Refused(_)) => Ok(Default::default()),
        }
    }

    fn choose_judged<'a>(
        &self,
        copies: &'a [TaskCopy],
        wanted: CopiesWanted,
        tasks: &[Task],
        problems: &[UnreadableTask],
        judge: &impl Fn((&TaskCopy, CopyFate)) -> Result<(), Refusal>,
    ) -> Result<(Vec<&'a TaskCopy>, CopiesRestored), Halt> {
        let removed = self.removed_for(&MEANT, tasks, problems)?;
        let now = NumbersNow::of(tasks, problems.iter().map(|problem| &problem.task), &removed);
        let (mut chosen, mut restored) = (Vec::new(), CopiesRestored::default());
        for copy in copies {
            let fate = match wanted {
                CopiesWanted::Missing => now.judge(&copy.task),
                CopiesWanted::WithDeleted => now.judge_with_deleted(&copy.task),
            };
            judge((copy, fate))?;
            match fate {
                CopyFate::Returns => chosen.push(copy),
                CopyFate::Same => restored.same += 1,
                CopyFate::Different => restored.different.push(copy.task.id.clone()),
                CopyFate::Meant(_) => restored.deleted.push(copy.task.id.clone()),
            }
        }
        Ok((chosen, restored))
    }
}

impl Yard {
    /// Returns whether a task is absent although no agent removed it on purpose.
    pub fn is_missing(&self, id: &TaskId) -> Result<bool, Error> {
        let is_there = !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing);
        Ok(!is_there && self.missing_task(id)?.is_some())
    }

    /// Returns whether a task is absent because a client deleted it.
    pub fn is_deleted_elsewhere(&self, id: &TaskId) -> Result<bool, Error> {
        let absent = self.absent_task(&TaskId::stored(id.file_stem()))?;
        Ok(self.is_missing(id)? && absent.is_some_and(|absent| absent.is_deleted_elsewhere()))
    }

    /// Returns whether a task is on the list, or was at any time as far as the journal knows.
    pub fn is_known(&self, id: &TaskId) -> Result<bool, Error> {
        if !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing) {
            return Ok(true);
        }
        let name = TaskId::stored(id.file_stem());
        let query = HistoryQuery { task: Some(name), newest: Some(1), ..HistoryQuery::default() };
        Ok(!self.history(&query)?.is_empty())
    }

    /// Returns the tasks that the journal knows and the list, as it was just read, no longer has for one of these
    /// reasons, by number.
    pub(super) fn removed_for(
        &self,
        reasons: &[Absence],
        tasks: &[Task],
        problems: &[UnreadableTask],
    ) -> Result<Vec<Removed>, StoreError> {
        let mut replaced = Replacements::default();
        if reasons.contains(&Absence::Replaced) {
            self.find_replacements(&mut replaced, HistoryQuery::default())?;
        }
        let last = self.store().last_entries(self.list_id())?;
        self.removed_among(&last, replaced, reasons, &names_of(tasks, problems))
    }

    /// Returns the tasks that are absent for one of these reasons, by number, given the last entry about each task, the
    /// replaced tasks known from the journal, and the names in use.
    pub(super) fn removed_among(
        &self,
        last: &[LastEntry],
        mut replaced: Replacements,
        reasons: &[Absence],
        taken: &HashSet<TaskId>,
    ) -> Result<Vec<Removed>, StoreError> {
        let mut absent = Vec::new();
        for entry in last.iter().filter(|entry| !taken.contains(&entry.task)) {
            // For most absent tasks the last entry gives the reason, so the task itself is not read unless that reason
            // is wanted.
            if told_by_last(entry).is_none_or(|absence| reasons.contains(&absence)) {
                absent.extend(self.absent_task(&entry.task)?);
            }
        }
        self.forget_returned(&mut replaced)?;
        let mut removed = by_number(absent, replaced.into_removed());
        removed.retain(|removed| reasons.contains(&removed.absence));
        Ok(removed)
    }

    /// Returns those of the named tasks that the journal knows and the list no longer has, by number. `taken` are the
    /// names in use.
    pub(super) fn removed_of(
        &self,
        names: &HashSet<TaskId>,
        taken: &HashSet<TaskId>,
    ) -> Result<Vec<Removed>, StoreError> {
        let mut absent = Vec::new();
        let mut replaced = Replacements::default();
        for task in names {
            if !taken.contains(task) {
                absent.extend(self.absent_task(task)?);
            }
            let of_task = HistoryQuery { task: Some(task.clone()), ..HistoryQuery::default() };
            self.find_replacements(&mut replaced, of_task)?;
        }
        self.forget_returned(&mut replaced)?;
        absent.sort_by(|one, other| one.task.id.cmp(&other.task.id));
        Ok(by_number(absent, replaced.into_removed()))
    }

    /// Returns the tasks that are absent although no agent removed them on purpose, by number.
    pub(super) fn missing(&self, tasks: &[Task], problems: &[UnreadableTask]) -> Result<Vec<Removed>, StoreError> {
        self.removed_for(&[Absence::Missing], tasks, problems)
    }

    /// Returns a task that was just found to be absent, if no agent removed it on purpose.
    pub(super) fn missing_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let missing = self.absent_task(&TaskId::stored(id.file_stem()))?.filter(Removed::is_missing);
        Ok(missing.map(|missing| missing.task))
    }

    /// Returns what the journal knows about an absent task. Usually its newest entries are enough.
    fn absent_task(&self, task: &TaskId) -> Result<Option<Removed>, StoreError> {
        let mut pages = self.backwards(HistoryQuery { task: Some(task.clone()), ..HistoryQuery::default() });
        let mut newest: Vec<Entry> = Vec::new();
        while let Some(page) = pages.next() {
            newest.splice(..0, page?);
            if let ToldByNewest::Everything(told) = told_by_newest(task, &newest, pages.is_at_beginning()) {
                return Ok(told.map(|told| *told));
            }
        }
        match told_by_newest(task, &newest, true) {
            ToldByNewest::Everything(told) => Ok(told.map(|told| *told)),
            ToldByNewest::TooLittle => Ok(None),
        }
    }

    /// Finds tasks that other programs replaced, in a part of the journal.
    fn find_replacements(&self, replaced: &mut Replacements, query: HistoryQuery) -> Result<(), StoreError> {
        for page in self.pages(HistoryQuery { ops: vec![Replacements::OP], ..query })? {
            page?.iter().for_each(|entry| replaced.add(entry));
        }
        Ok(())
    }

    /// Drops replaced tasks that were restored since.
    fn forget_returned(&self, replaced: &mut Replacements) -> Result<(), StoreError> {
        let Some(first) = replaced.first() else { return Ok(()) };
        let since = Revision(first.0.saturating_sub(1));
        for page in self.pages(HistoryQuery { since, only_arrivals: true, ..HistoryQuery::default() })? {
            page?.iter().for_each(|entry| replaced.add_arrival(entry));
        }
        let mut now: Vec<(TaskId, Option<Image>)> = Vec::new();
        for task in replaced.tasks() {
            let last = HistoryQuery { task: Some(task.clone()), newest: Some(1), ..HistoryQuery::default() };
            let last = self.store().history(self.list_id(), &last)?.pop();
            now.push((task.clone(), last.and_then(|last| last.after)));
        }
        let mut now = now.into_iter();
        replaced.add_last(|_| now.next().and_then(|(_, image)| image));
        Ok(())
    }
}

/// Returns the names in use in a list.
pub(super) fn names_of(tasks: &[Task], problems: &[UnreadableTask]) -> HashSet<TaskId> {
    tasks.iter().map(|task| &task.id).chain(problems.iter().map(|problem| &problem.task)).cloned().collect()
}

/// Returns why a task is absent, if its last entry alone determines that.
fn told_by_last(entry: &LastEntry) -> Option<Absence> {
    match entry.op {
        _ if entry.leaves_task => Some(Absence::Missing),
        Op::Delete | Op::Clear => Some(Absence::Deleted),
        Op::Merge | Op::Rename => Some(Absence::Moved),
        _ => None,
    }
}

/// A list that lost its open tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoneList {
    pub list: ListId,
    /// Where the list is or was stored, if it has a path.
    pub path: Option<PathBuf>,
    /// The tasks that are gone.
    pub gone: Gone,
}

impl Yard {
    /// Returns what is gone from the list, if no task file is left and no agent deleted them on purpose.
    pub fn gone(&self) -> Result<Option<Gone>, Error> {
        Ok(self.look()?.gone)
    }

    /// Returns those of some lists that lost open tasks and have no task file left, followed by all lists whose
    /// directory is gone.
    pub(super) fn gone_among(&self, lists: &[ListInfo]) -> Result<Vec<GoneList>, Error> {
        // In a store without files no program removes a task by accident.
        let Some(care) = self.store().care() else { return Ok(Vec::new()) };
        let mut candidates = Vec::new();
        for info in lists.iter().filter(|info| info.counts == [0; 3]) {
            // A list that no Taskyard process has worked on is read without recording anything about it.
            if care.glance(&info.list)?.is_empty() {
                candidates.push((info.list.clone(), info.path.clone()));
            }
        }
        candidates.extend(care.lists_without_a_place()?.into_iter().map(|(list, path)| (list, Some(path))));
        let mut lists = Vec::new();
        for (list, path) in candidates {
            if let Some(gone) = self.on(list.clone()).gone()?.filter(Gone::is_loss) {
                lists.push(GoneList { list, path, gone });
            }
        }
        Ok(lists)
    }

    /// Returns what is gone from a list that was just found without a task file. `with` is what the list was kept in,
    /// if that is gone, too.
    ///
    /// An unreadable journal does not fail the reader.
    pub(super) fn gone_with(&self, with: Option<KeptIn>) -> Option<Gone> {
        let missing = self.missing(&[], &[]);
        let missing = missing.inspect_err(|error| tracing::debug!(%error, "what is gone is not known")).ok()?;
        if missing.is_empty() {
            return None;
        }
        let last_look = self.store().care().and_then(|care| care.last_look(self.list_id()));
        gone(&missing, with, last_look, system::now())
    }

    /// Returns the readable tasks of a list, for scanning many lists. If the store supports it, nothing about the read
    /// is recorded.
    pub(super) fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        match self.store().care() {
            Some(care) => care.glance(list),
            None => self.store().read(list)?.tasks(),
        }
    }
}
