//! Creates the successor of a recurring task.
//!
//! The successor is created in the commit that completes the task, whichever operation that is. For a task that another
//! program completed, the next command that reads the whole list creates it. In both cases the completed task names its
//! successor, and gets only one.

use taskyard_core::rules::changes::recurring::{coming_again, due_again, followed, following};
use taskyard_core::timing::{Clock, Recurrence, TimeZone};
use taskyard_core::{Op, Task, TaskId};

use crate::Yard;
use crate::store::{Signature, StoreError, Txn};

/// Operations that restore a former state: a task they complete already had its successor then, or is not to get one.
const RETURNING: [Op; 3] = [Op::Undo, Op::Restore, Op::Import];

impl Yard {
    /// Stages the successors of the tasks that this transaction completes.
    pub(crate) fn stage_followers(&self, txn: &mut dyn Txn, op: Op) -> Result<bool, StoreError> {
        if RETURNING.contains(&op) {
            return Ok(false);
        }
        let staged = txn.staged();
        self.stage_followers_of(txn, &staged)
    }

    /// Creates the successors of tasks that another program completed, unless a writer holds the list; returns whether
    /// any was created.
    pub(super) fn try_to_make_followers(&self, tasks: &[Task]) -> bool {
        let completed: Vec<TaskId> =
            tasks.iter().filter(|task| due_again(task).is_some()).map(|task| task.id.clone()).collect();
        if completed.is_empty() || self.rehearses() {
            return false;
        }
        let signature = Signature::new(self.actor().clone(), Op::Create);
        let made = self.try_commit_alone(&signature, |txn| self.stage_followers_of(txn, &completed));
        made.unwrap_or_else(|error| {
            tracing::debug!(%error, "what follows a task that recurs is left for the next writer");
            None
        }) == Some(true)
    }

    fn stage_followers_of(&self, txn: &mut dyn Txn, completed: &[TaskId]) -> Result<bool, StoreError> {
        let mut has_staged = false;
        for id in completed {
            let Some(task) = txn.find(id)?.task() else { continue };
            if let Some(rule) = due_again(&task) {
                has_staged |= self.stage_follower(txn, &task, &rule)?;
            }
        }
        Ok(has_staged)
    }

    fn stage_follower(&self, txn: &mut dyn Txn, task: &Task, rule: &Recurrence) -> Result<bool, StoreError> {
        let tasks = txn.tasks()?;
        let mut coming: Vec<Task> = Vec::new();
        for id in coming_again(&task.id, &tasks) {
            coming.extend(txn.find(&id)?.task());
        }
        let new_ids = txn.new_ids(coming.len())?;
        let zone = rule.zone().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
        let clock = Clock::new(self.now()?.wall, zone);
        let Some(mut follow) = following(&coming, &new_ids, rule, &clock) else { return Ok(false) };
        // A closed task gets no new parts.
        let parent =
            task.parent().filter(|parent| tasks.iter().any(|other| other.id == *parent && other.status.is_open()));
        if parent.is_none()
            && let Some(metadata) = follow.first_mut().and_then(|first| first.metadata.as_mut())
        {
            metadata.shift_remove("parent");
        }
        let Some(first) = follow.first().map(|first| first.id.clone()) else { return Ok(false) };
        follow.into_iter().try_for_each(|task| txn.put_new(task))?;
        txn.put(followed(task, &first))?;
        Ok(true)
    }
}
