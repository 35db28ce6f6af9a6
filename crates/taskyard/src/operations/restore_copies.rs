//! Bringing tasks back from copies that a backup has.

use taskyard_core::rules::graph::reconnecting::{Reconnected, reconnect};
use taskyard_core::rules::history::removed::Absence;
use taskyard_core::rules::history::restoring_copies::{CopyFate, NumbersNow};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Image, Op, Revision, Task, TaskId};

use super::edges::refuse_circles_through;
use super::halt::Halt;
use crate::store::{StoreError, UnreadableTask};
use crate::{Error, Outcome, Yard};

/// Why a task is not there that an agent meant to be gone.
const MEANT: [Absence; 4] = [Absence::Deleted, Absence::Moved, Absence::Renumbered, Absence::Unmade];

/// The copy of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskCopy {
    /// The task.
    pub(crate) task: Task,
    /// The exact form of its file, where that is known.
    pub(crate) image: Option<Image>,
}

/// Which copies are to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiesWanted {
    /// Those that no agent deleted on purpose since.
    Missing,
    /// Also those.
    WithDeleted,
}

/// What came of bringing copies back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiesRestored {
    /// The tasks that came back, as they are now.
    pub tasks: Vec<Task>,
    /// How many the list has as they are in the copies.
    pub same: usize,
    /// Those under whose numbers something else stands, which stays.
    pub different: Vec<TaskId>,
    /// Those that an agent deleted, moved or took back on purpose since, and that stay away.
    pub deleted: Vec<TaskId>,
    /// The edges that could not come back, each from the task that waited to the one it waited for.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The commit; none where nothing came back.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Says what would come of bringing copies back, and brings none.
    pub(crate) fn look_at_copies(&self, copies: &[TaskCopy], wanted: CopiesWanted) -> Result<CopiesRestored, Error> {
        let list = self.store().read(self.list_id())?;
        let (chosen, mut restored) = self.choose_copies(copies, wanted, &list.tasks()?, &list.problems()?)?;
        restored.tasks = chosen.into_iter().map(|copy| copy.task.clone()).collect();
        Ok(restored)
    }

    /// Brings those copies back whose numbers are free, with their edges, in one commit. Nothing that is there is changed, but for the
    /// other ends of edges.
    pub(crate) fn restore_copies(
        &self,
        copies: &[TaskCopy],
        wanted: CopiesWanted,
    ) -> Result<Outcome<CopiesRestored>, Error> {
        self.restore_judged(copies, wanted, |_| Ok(()))
    }

    /// Does the same with copies that were named: where one of them cannot come back, none does.
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
        // Looking first may add to the journal what other programs did; and a list is not made for nothing.
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
            // Nothing is refused here.
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
