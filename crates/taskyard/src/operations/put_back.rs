//! Reapplies changes that stale writes of other programs overwrote.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::Duration;

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::history::taking_back::{OpenLosses, is_same_task, put_back};
use taskyard_core::{Entry, Loss, Op, Task, TaskField, TaskId, Verdict};

use crate::operations::depend::refuse_circles;
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::Workbench;
use crate::store::{HistoryQuery, Lookup, Signature, StaleWrite, StoreError, Txn};
use crate::{Error, Yard};

/// How often a reader tries to reapply a change, and the delay between tries. A writer usually finishes soon.
const TRIES: u32 = 10;
/// The number of tries for lost notes, whose loss is never intended.
const TRIES_FOR_NOTES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(3);

/// How many of a task's newest revisions are searched for notes that are still lost.
const RECENT: usize = 32;

const PARENT: &str = "parent";

impl Yard {
    /// Reapplies the changes overwritten by stale writes that this process has recorded, each in a revision that can be
    /// undone. Returns whether anything changed. A failure does not fail the caller, which asked for something else;
    /// `doctor` reports what stays lost.
    pub(crate) fn put_back_stale_writes(&self) -> bool {
        let stale = self.stale_writes_to_put_back();
        let put_back = |write: &StaleWrite| {
            let signature = Signature::new(self.actor().clone(), Op::PutBack);
            self.commit_alone(&signature, |txn| stage(txn, write, None))
        };
        stale.iter().map(put_back).filter(|done| matches!(told(done), Ok(true))).count() > 0
    }

    /// Like [`Self::put_back_stale_writes`], for a reader: gives up if other writers are busy.
    pub(super) fn try_to_put_back_stale_writes(&self) -> bool {
        let stale = self.stale_writes_to_put_back();
        stale.iter().filter(|write| matches!(told(&self.try_to_put_back(write)), Ok(true))).count() > 0
    }

    fn try_to_put_back(&self, write: &StaleWrite) -> Result<bool, StoreError> {
        let signature = Signature::new(self.actor().clone(), Op::PutBack);
        let has_notes = write.losses.iter().any(|loss| matches!(loss.field, TaskField::Note(_)));
        for _ in 0..if has_notes { TRIES_FOR_NOTES } else { TRIES } {
            match self.try_commit_alone(&signature, |txn| stage(txn, write, None)) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) | Err(StoreError::Conflict { .. } | StoreError::Busy { .. }) => thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Records other programs' writes that no Taskyard process has recorded yet, and reapplies changes they overwrote
    /// with stale data. Returns whether anything changed.
    pub(crate) fn put_back_unrecorded_writes(&self) -> Result<bool, StoreError> {
        if !self.puts_back() {
            return Ok(false);
        }
        // Reading the history also examines the files.
        self.store().history(self.list_id(), &HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(self.put_back_stale_writes())
    }

    /// Restores lost notes of a task that were not reapplied because the process that recorded the loss died, or
    /// because other programs kept writing. Returns whether anything changed.
    pub(super) fn put_back_lost_notes(&self, id: &TaskId) -> Result<bool, Error> {
        match self.history(&recent(&TaskId::stored(id.file_stem()))) {
            Ok(entries) => self.put_back_notes_lost_in(&entries),
            // A damaged journal reports no loss.
            Err(Error::Store(error)) if error.is_of_memory() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Restores the notes that are still lost among those that recent entries of a task report, oldest first.
    pub(super) fn put_back_notes_lost_in(&self, entries: &[Entry]) -> Result<bool, Error> {
        let is_lost = |loss: &Loss| loss.verdict == Verdict::Certain && matches!(loss.field, TaskField::Note(_));
        let Some(first) = entries.iter().position(|entry| entry.remark.taken_back.iter().any(is_lost)) else {
            return Ok(false);
        };
        let id = &entries[first].task;
        let Some(now) = self.store().read(self.list_id())?.find(id)?.task().filter(|_| self.puts_back()) else {
            return Ok(false);
        };
        let mut open = OpenLosses::default();
        entries[first..].iter().for_each(|entry| open.add(entry));
        let mut has_changed = false;
        for lost in open.standing(&HashMap::from([(id, &now)])) {
            let (losses, last): (Vec<Loss>, Task) = (lost.losses.into_iter().filter(is_lost).collect(), lost.last);
            let (Some(found), Some(left)) = (lost.entry.before, lost.entry.after) else { continue };
            if losses.is_empty() {
                continue;
            }
            let write = StaleWrite { task: lost.task, revision: lost.entry.revision, losses, found, left };
            let signature = Signature::new(self.actor().clone(), Op::PutBack);
            has_changed |= self.commit_alone(&signature, |txn| stage(txn, &write, Some(&last)))?;
        }
        Ok(has_changed)
    }

    fn stale_writes_to_put_back(&self) -> Vec<StaleWrite> {
        let Some(care) = self.store().care() else { return Vec::new() };
        let stale = care.take_stale_writes(self.list_id());
        if self.puts_back() { stale } else { Vec::new() }
    }
}

/// Returns a query for a task's newest entries, which are searched for lost notes.
pub(super) fn recent(task: &TaskId) -> HistoryQuery {
    HistoryQuery { task: Some(task.clone()), newest: Some(RECENT), ..HistoryQuery::default() }
}

fn told<E: std::fmt::Display>(done: &Result<bool, E>) -> Result<bool, ()> {
    done.as_ref().copied().map_err(|error| tracing::warn!(%error, "what a stale write took back is not put back"))
}

/// Stages what a stale write overwrote, as far as it is still lost, and returns whether there is anything. `last` is
/// the last recorded state of the task if it is newer than the write. A different task under the same number is left
/// unchanged.
fn stage(txn: &mut dyn Txn, write: &StaleWrite, last: Option<&Task>) -> Result<bool, StoreError> {
    let Lookup::Found(now, _) = txn.find(&write.task)? else { return Ok(false) };
    let (Ok(found), Ok(left)) = (write.found.task(&write.task), write.left.task(&write.task)) else { return Ok(false) };
    let recorded: Vec<&Task> = last.into_iter().chain([&left, &found]).collect();
    if !is_same_task(&now, &recorded) {
        return Ok(false);
    }
    put_losses_back(txn, &now, &write.losses, &found, &left)
}

/// Stages lost values of a task, as far as they are still lost, and returns whether there are any. An edge or a parent
/// is restored only if its other end exists and no cycle is closed.
pub(super) fn put_losses_back(
    txn: &mut dyn Txn,
    now: &Task,
    losses: &[Loss],
    found: &Task,
    left: &Task,
) -> Result<bool, StoreError> {
    let (blocks, blocked_by): (HashSet<&TaskId>, HashSet<&TaskId>) =
        (found.blocks.iter().collect(), found.blocked_by.iter().collect());
    let mut possible = Vec::with_capacity(losses.len());
    for loss in losses {
        let other = match &loss.field {
            TaskField::Blocks(id) => blocks.get(id).copied().cloned(),
            TaskField::BlockedBy(id) => blocked_by.get(id).copied().cloned(),
            TaskField::Metadata(key) if key == PARENT => found.parent(),
            _ => None,
        };
        if other.map_or(Ok(true), |other| txn.find(&other).map(|found| matches!(found, Lookup::Found(..))))? {
            possible.push(loss.clone());
        }
    }
    let (ties, others): (Vec<Loss>, Vec<Loss>) = possible.iter().cloned().partition(|loss| is_tie(&loss.field));
    if !ties.is_empty()
        && let Some(tied) = put_back(now, &possible, found, left)
    {
        let edges = gained_edges(now, &tied);
        txn.put(tied)?;
        let parts: &[TaskId] =
            if ties.iter().any(|loss| is_parent(&loss.field)) { std::slice::from_ref(&now.id) } else { &[] };
        let closes = refuse_circles(&mut Workbench::on(txn), &edges, parts);
        match closes {
            Ok(()) => return Ok(true),
            Err(Halt::Failed(error)) => return Err(error),
            Err(Halt::Refused(_)) => txn.put(now.clone())?,
        }
    }
    let Some(back) = put_back(now, &others, found, left) else { return Ok(false) };
    txn.put(back)?;
    Ok(true)
}

/// Returns whether a lost field connects the task with others.
fn is_tie(field: &TaskField) -> bool {
    matches!(field, TaskField::Blocks(_) | TaskField::BlockedBy(_)) || is_parent(field)
}

fn is_parent(field: &TaskField) -> bool {
    matches!(field, TaskField::Metadata(key) if key == PARENT)
}

fn gained_edges(before: &Task, after: &Task) -> Vec<Edge> {
    let (blocked, blocking): (HashSet<&TaskId>, HashSet<&TaskId>) =
        (before.blocked_by.iter().collect(), before.blocks.iter().collect());
    let waits = after.blocked_by.iter().filter(|on| !blocked.contains(on));
    let blocks = after.blocks.iter().filter(|waiting| !blocking.contains(waiting));
    let waits = waits.map(|on| Edge::new(after.id.clone(), on.clone()));
    waits.chain(blocks.map(|waiting| Edge::new(waiting.clone(), after.id.clone()))).collect()
}
