//! Bringing tasks back that are not there.

use std::collections::HashSet;

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::reconnecting::{Reconnected, reconnect_remembering};
use taskyard_core::rules::history::edges_lost::EdgesLost;
use taskyard_core::rules::history::removed::{Absence, Removed};
use taskyard_core::rules::history::replacing::under_number;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, Op, Revision, Task, TaskId};

use super::absent::names_of;
use super::edges::refuse_circles_through;
use super::exact_texts::put_exact_texts;
use super::halt::Halt;
use crate::store::{HistoryQuery, Lookup, StoreError, Txn, UnreadableTask};
use crate::{Error, Outcome, Yard};

/// A task that can be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restorable {
    /// The task as it last was.
    pub task: Task,
    /// Why it is not there.
    pub absence: Absence,
    /// The entry by which it went. Where no reader has noticed that yet, the last one it was there in.
    pub removed: Entry,
}

/// Which tasks are to be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreWhich {
    /// Every one.
    All,
    /// These.
    Some(Vec<TaskId>),
}

/// Tasks that were brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The tasks as they are now.
    pub tasks: Vec<Task>,
    /// The edges that could not come back, each from the task that waited to the one it waited for.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// Whether something came back and no task of the list is open: the client clears such a list.
    pub nothing_is_open: bool,
    /// The commit; none where there was nothing to bring back.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Returns the tasks that are missing, by number: another program removed them or put different ones under their numbers, or an undo
    /// took away what a restore had brought back, and no agent deleted them on purpose.
    pub fn restorable(&self) -> Result<Vec<Restorable>, Error> {
        self.absent_for(&[Absence::Missing, Absence::Replaced])
    }

    /// Returns the tasks that are missing and those that were deleted on purpose, by number.
    pub fn restorable_with_deleted(&self) -> Result<Vec<Restorable>, Error> {
        self.absent_for(&[Absence::Missing, Absence::Replaced, Absence::Deleted])
    }

    /// Brings missing tasks back, with their numbers and edges, in one commit; one whose number another task has now gets a new number.
    /// What an agent meant to go stays away, and is refused where it is named.
    pub fn restore(&self, which: RestoreWhich) -> Result<Outcome<Restored>, Error> {
        let reasons = [Absence::Missing, Absence::Replaced];
        self.bring_back_from(&reasons, &reasons, &which)
    }

    /// Brings back also what was deleted on purpose and, where it is named, what moved to another list or was never to be made.
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

    /// Returns what the list, as it was just read, no longer holds: of these tasks whatever the reason, of all for one of these reasons.
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

    /// Returns the edges that other tasks lost because these were not there.
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
        // Looking first may add to the journal what other programs did, and a list that never was is not made for nothing.
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

/// Returns the tasks that were named, where each is one that can be brought back for these reasons.
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
