//! Bringing removed tasks back.

use std::collections::HashSet;

use taskyard_core::rules::reconnecting::{Reconnected, reconnect};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::rules::restoring::{Removed, removed};
use taskyard_core::{Entry, Op, Revision, Task, TaskId};

use super::halt::Halt;
use crate::store::{HistoryQuery, Lookup, Problem, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// A lost task that can be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restorable {
    /// The task as it last was.
    pub task: Task,
    /// The entry that removed it.
    pub removed: Entry,
}

/// Which removed tasks are to be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreWhich {
    /// Every one that was lost: deleted or cleared, here or elsewhere.
    All,
    /// These, also if they moved to another list or an undo took them back.
    Some(Vec<TaskId>),
}

/// Tasks that were brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The tasks as they are now.
    pub tasks: Vec<Task>,
    /// The edges that could not come back, each from the task that waited to the one it waited for.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The commit; none where there was nothing to bring back.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Returns the tasks that were lost, here or elsewhere, by number.
    pub fn restorable(&self) -> Result<Vec<Restorable>, Error> {
        let list = self.store().read(self.list_id())?;
        let lost = self.removed(&list.tasks()?, &list.problems()?)?.into_iter().filter(Removed::is_lost);
        Ok(lost.map(|Removed { task, entry, .. }| Restorable { task, removed: entry }).collect())
    }

    /// Brings removed tasks back, with their numbers and edges, in one commit.
    pub fn restore(&self, which: RestoreWhich) -> Result<Outcome<Restored>, Error> {
        // Looking first may add to the journal what other programs did, and a list that never was is not made for nothing.
        let list = self.store().read(self.list_id())?;
        if self.removed(&list.tasks()?, &list.problems()?)?.is_empty() && !list.exists() {
            return Ok(match which {
                RestoreWhich::Some(ids) if !ids.is_empty() => {
                    Outcome::Refused(Refusal::NoSuchTask { task: ids[0].clone() })
                }
                RestoreWhich::All | RestoreWhich::Some(_) => {
                    Outcome::Done(Restored { tasks: Vec::new(), dropped_edges: Vec::new(), revision: None })
                }
            });
        }
        drop(list);
        let outcome = self.transact(Op::Restore, |txn, _| {
            let present = txn.tasks()?;
            let removed = self.removed(&present, &txn.problems()?)?;
            let chosen = choose(removed, &which, txn)?;
            for removed in &chosen {
                txn.put_image(&removed.task.id, removed.image.clone())?;
            }
            let arrivals: Vec<Task> = chosen.into_iter().map(|removed| removed.task).collect();
            let Reconnected { changed, dropped } = reconnect(&present, &arrivals, self.rules());
            for task in changed {
                txn.put(task)?;
            }
            let mut tasks = Vec::with_capacity(arrivals.len());
            for task in arrivals {
                tasks.push(txn.find(&task.id)?.task().unwrap_or(task));
            }
            Ok((tasks, dropped))
        })?;
        Ok(outcome.map(|((tasks, dropped), event)| Restored {
            tasks,
            dropped_edges: dropped.into_iter().map(|edge| (edge.task, edge.on)).collect(),
            revision: event.map(|event| event.revision),
        }))
    }

    /// Returns what the journal knows and the list, as it was just read, no longer holds.
    fn removed(&self, tasks: &[Task], problems: &[Problem]) -> Result<Vec<Removed>, StoreError> {
        let names = tasks.iter().map(|task| &task.id).chain(problems.iter().map(|problem| &problem.task));
        let taken: HashSet<TaskId> = names.cloned().collect();
        Ok(removed(self.store().history(self.list_id(), &HistoryQuery::default())?, &taken))
    }
}

fn choose(removed: Vec<Removed>, which: &RestoreWhich, list: &dyn Txn) -> Result<Vec<Removed>, Halt> {
    let RestoreWhich::Some(ids) = which else {
        return Ok(removed.into_iter().filter(Removed::is_lost).collect());
    };
    let known: HashSet<&TaskId> = removed.iter().map(|removed| &removed.task.id).collect();
    if let Some(id) = ids.iter().find(|id| !known.contains(id)) {
        return Err(match list.find(id)? {
            Lookup::Found(..) => Refusal::NotRemoved { task: id.clone() }.into(),
            Lookup::Missing => Refusal::NoSuchTask { task: id.clone() }.into(),
            Lookup::Unreadable(problem) => problem.into_refusal().into(),
        });
    }
    Ok(removed.into_iter().filter(|removed| ids.contains(&removed.task.id)).collect())
}
