//! Records the state of a task's worktree, and takes turns at merging.

use std::collections::HashSet;
use std::path::Path;

use taskyard_core::rules::changes::patching::Patch;
use taskyard_core::rules::changes::transitions::demanded_checks;
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::rules::worktrees::queue::{Turn, judge_turn};
use taskyard_core::rules::worktrees::record::{TaskWorktree, WorktreeState, worktree_of};
use taskyard_core::{Metadata, Op, Status, Task, TaskId};

use super::{Update, Updated};
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Records the state of a task's worktree, with an optional note.
    pub fn set_worktree(
        &self,
        id: &TaskId,
        tree: &TaskWorktree,
        note: Option<&str>,
    ) -> Result<Outcome<Updated>, Error> {
        self.update_with_note(id, &|_| metadata(tree.as_patch()), note)
    }

    /// Takes the turn to merge a task's branch: its state becomes `merging`, in a transaction in which no other task is
    /// being merged under a live lease. The result says whether the turn is ours; if not, nothing has changed. The turn
    /// ends with that state, or with the lease on the task.
    pub fn take_merge_turn(&self, id: &TaskId) -> Result<Outcome<Turn>, Error> {
        let outcome = self.transact(Op::Update, |txn, _| {
            let task = txn.find(id)?.task().ok_or_else(|| Refusal::NoSuchTask { task: id.clone() })?;
            self.respect_lease(txn, &task)?;
            let (tasks, leases, now) = (txn.tasks()?, txn.leases()?, self.now()?);
            let is_alive = |task: &Task| {
                let on_it = leases.iter().filter(|lease| lease.task == task.id && holds(lease, task));
                on_it.into_iter().any(|lease| self.world().judge_at(lease, &now).is_alive())
            };
            let held: HashSet<&TaskId> = tasks.iter().filter(|task| is_alive(task)).map(|task| &task.id).collect();
            let turn = judge_turn(id, &tasks, |task| held.contains(task));
            if let (Turn::Ours, Some(tree)) = (&turn, worktree_of(&task)) {
                let mut merging = task.clone();
                let tree = tree.in_state(WorktreeState::Merging).as_patch();
                merging.metadata.get_or_insert_default().extend(tree);
                txn.put(merging)?;
            }
            Ok(turn)
        })?;
        Ok(outcome.map(|(turn, _)| turn))
    }

    /// Completes a task whose branch is merged, and records the merge in the same commit. Hooks run as usual.
    pub fn complete_merged(
        &self,
        id: &TaskId,
        tree: &TaskWorktree,
        note: Option<&str>,
    ) -> Result<Outcome<Updated>, Error> {
        let complete = |_: &Task| {
            let mut update = metadata(tree.as_patch());
            update.patch.status = Some(Status::Completed);
            update
        };
        self.update_with_note(id, &complete, note)
    }

    /// Runs the checks that a task requires in a given directory, and returns the refusal of the first that fails.
    pub fn check_in(&self, directory: &Path, task: &Task) -> Result<Option<Refusal>, Error> {
        let Some(hooks) = self.hooks() else { return Ok(None) };
        let _attending = hooks.cancel().attend();
        hooks.verify_in(directory, task, &demanded_checks(task))
    }
}

fn metadata(metadata: Metadata) -> Update {
    Update { patch: Patch { metadata: Some(metadata), ..Patch::default() }, ..Update::default() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskyard_core::rules::refusal::Refusal;
    use taskyard_core::rules::worktrees::queue::Turn;
    use taskyard_core::rules::worktrees::record::{TaskWorktree, WorktreeState, worktree_of};
    use taskyard_core::{AgentName, ListId, Rules, TaskId, Timestamp};

    use crate::operations::{Claim, NewTask};
    use crate::store::MemoryStore;
    use crate::{Outcome, Yard};

    fn queued() -> TaskWorktree {
        let tree = TaskWorktree::new("taskyard/1".into(), "main".into(), "/w".into());
        TaskWorktree { merges: true, ..tree }.queued_with("tip", Timestamp(1))
    }

    /// Two yards on a list with two tasks held by two agents, both queued for merging.
    fn yards() -> [Yard; 2] {
        let store = Arc::new(MemoryStore::new(Rules::Strict));
        let yard = Yard::new(store, ListId::new("rocket").unwrap(), AgentName::new("ana").unwrap());
        ["ana", "ben"].map(|name| {
            let created = yard.create(NewTask { subject: name.into(), ..NewTask::default() });
            let id = created.unwrap().done().unwrap().task.id;
            let agent = yard.acting_as(AgentName::new(name).unwrap());
            let Outcome::Done(claimed) = agent.claim(&id, &Claim::default()).unwrap() else { panic!("free") };
            let agent = agent.proving(claimed.lease.token);
            agent.set_worktree(&id, &queued(), None).unwrap().done().unwrap();
            agent
        })
    }

    #[test]
    fn one_task_is_merged_at_a_time_and_then_completed() {
        let ([ana, ben], [one, two]) = (yards(), [TaskId::number(1), TaskId::number(2)]);
        assert_eq!(ana.take_merge_turn(&one).unwrap(), Outcome::Done(Turn::Ours));
        assert_eq!(ben.take_merge_turn(&two).unwrap(), Outcome::Done(Turn::After(one.clone())));
        let refused = ana.done(&one).unwrap();
        assert!(matches!(refused, Outcome::Refused(Refusal::NotMerged { .. })), "{refused:?}");
        let merged = queued().in_state(WorktreeState::Merged);
        let task = ana.complete_merged(&one, &merged, None).unwrap().done().unwrap().task;
        assert_eq!(worktree_of(&task), Some(merged));
        assert_eq!(ben.take_merge_turn(&two).unwrap(), Outcome::Done(Turn::Ours));
    }

    #[test]
    fn a_task_in_review_is_given_to_nobody() {
        let [ana, _] = yards();
        let one = TaskId::number(1);
        ana.set_worktree(&one, &queued().in_state(WorktreeState::Review), None).unwrap().done().unwrap();
        ana.release(&one).unwrap().done().unwrap();
        let claimed = ana.claim_next(&Claim::default()).unwrap();
        assert!(matches!(claimed, Outcome::Refused(_)), "{claimed:?}");
        let reviewer = Claim { roles: vec!["reviewer".to_owned()], ..Claim::default() };
        assert!(matches!(ana.claim_next(&reviewer).unwrap(), Outcome::Done(_)));
    }
}
