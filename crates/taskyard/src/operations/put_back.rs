//! Putting back what stale writes of other programs took back.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use taskyard_core::rules::dependencies::Edge;
use taskyard_core::rules::taking_back::put_back;
use taskyard_core::{Loss, Op, Task, TaskField, TaskId};

use super::edges::refuse_circles;
use super::halt::Halt;
use super::workbench::Workbench;
use crate::Yard;
use crate::store::{HistoryQuery, Lookup, Signature, StaleWrite, StoreError, Txn};

/// How often somebody who only looks tries to put something back, and how long it waits each time: a writer is done soon.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(3);

/// The key that makes a task a part of another.
const PARENT: &str = "parent";

impl Yard {
    /// Puts back what stale writes took back that this process has recorded, each in a revision that can be undone, and returns whether
    /// anything changed. A failure is no failure of whoever asked for something else: `doctor` tells of what stays lost.
    pub(crate) fn put_back_stale_writes(&self) -> bool {
        let stale = self.stale_writes_to_put_back();
        let put_back = |write: &StaleWrite| {
            let signature = Signature::new(self.actor().clone(), Op::PutBack);
            self.commit_alone(&signature, |txn| stage(txn, write))
        };
        stale.iter().map(put_back).filter(|done| matches!(told(done), Ok(true))).count() > 0
    }

    /// Does the same for somebody who only looks, as far as that takes no waiting for others.
    pub(super) fn try_to_put_back_stale_writes(&self) -> bool {
        let stale = self.stale_writes_to_put_back();
        stale.iter().filter(|write| matches!(told(&self.try_to_put_back(write)), Ok(true))).count() > 0
    }

    fn try_to_put_back(&self, write: &StaleWrite) -> Result<bool, StoreError> {
        let signature = Signature::new(self.actor().clone(), Op::PutBack);
        for _ in 0..TRIES {
            match self.try_commit_alone(&signature, |txn| stage(txn, write)) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) | Err(StoreError::Conflict { .. } | StoreError::Busy { .. }) => thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Records what other programs wrote and nobody has recorded, and puts back what they took back without knowing. Returns whether
    /// anything changed.
    pub(crate) fn put_back_unrecorded_writes(&self) -> Result<bool, StoreError> {
        if !self.puts_back() {
            return Ok(false);
        }
        // Asking for history looks at the files.
        self.store().history(self.list_id(), &HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(self.put_back_stale_writes())
    }

    fn stale_writes_to_put_back(&self) -> Vec<StaleWrite> {
        let Some(care) = self.store().care() else { return Vec::new() };
        let stale = care.take_stale_writes(self.list_id());
        if self.puts_back() { stale } else { Vec::new() }
    }
}

fn told<E: std::fmt::Display>(done: &Result<bool, E>) -> Result<bool, ()> {
    done.as_ref().copied().map_err(|error| tracing::warn!(%error, "what a stale write took back is not put back"))
}

/// Stages what a stale write took back, as far as it is still lost, and tells whether there is anything.
fn stage(txn: &mut dyn Txn, write: &StaleWrite) -> Result<bool, StoreError> {
    let Lookup::Found(now, _) = txn.find(&write.task)? else { return Ok(false) };
    let (Ok(found), Ok(left)) = (write.found.task(&write.task), write.left.task(&write.task)) else { return Ok(false) };
    put_losses_back(txn, &now, &write.losses, &found, &left)
}

/// Stages lost values of a task, as far as they are still lost, and tells whether there are any. An edge or a parent comes back only
/// where its other end is there and no circle closes.
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

/// Tells whether what is lost ties a task to others.
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
