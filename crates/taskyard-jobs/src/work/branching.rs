//! Attempts in their own worktrees: creating the worktree, and merging its branch once the command has succeeded.

use std::path::Path;

use taskyard::core::Status;
use taskyard::core::rules::changes::patching::{OwnerChange, Patch};
use taskyard::core::rules::worktrees::record::{TaskWorktree, WorktreeState, awaits_merge, worktree_of};
use taskyard::failpoint::reach;
use taskyard::operations::{Hold, Keeper, Update};
use taskyard::process::{CommandLine, Ending, Program, Stop};
use taskyard::{Outcome as Done, Yard};

use super::attempt::{Attempt, Outcome, insist};
use super::report::{Conclusion, WorkError};
use super::site::Tail;
use super::{Failure, MergeOrder, WorkEvent, WorktreeOrder};
use crate::worktrees::{GitError, MergeNews, MergeOutcome, Merger, Message, QueueError, WorktreeMaker};

/// What to do in a worktree.
pub(super) enum Entered {
    /// Run the command there.
    Runs,
    /// Nothing: an earlier attempt had finished the branch, and this is the result of merging it.
    Ended(Conclusion),
}

impl Attempt {
    /// Prepares a worktree for this attempt: a new one, or the one of an earlier attempt to continue. A branch that was
    /// already finished is merged without running the command.
    pub(super) fn enter_worktree(&mut self, trees: &WorktreeOrder, stop: &Stop) -> Result<Entered, WorkError> {
        let repository = &trees.repository;
        let earlier = worktree_of(&self.task);
        if let (Some(tree), Some(merging)) = (&earlier, &trees.merging)
            && tree.state.is_in_queue()
            && (!trees.review || tree.approved)
            && repository.is_finished(tree)?
        {
            self.tree = Some(tree.clone());
            let yard = self.hold.yard.clone();
            return self.merge(&yard, tree.clone(), merging).map(Entered::Ended);
        }
        let mut reason = None;
        if let Some(tree) = earlier.filter(|tree| tree.state != WorktreeState::Merged) {
            let path = Path::new(&tree.path);
            if tree.is_continued || trees.continues {
                reason = repository.obstacle(path, &tree.branch)?;
                if reason.is_none() {
                    let merges = trees.merges();
                    let tree = TaskWorktree {
                        is_continued: false,
                        approved: false,
                        merges,
                        ..tree.in_state(WorktreeState::Working)
                    };
                    return self.write_down(tree).map(|()| Entered::Runs);
                }
            } else {
                repository.remove_if_clean(path, Some(&tree.branch))?;
            }
        }
        let run = |line: &str, place: &Path| self.run_for_git(line, place, stop);
        let (merges, provisions) = (trees.merges(), &trees.provisions);
        let made = WorktreeMaker { repository, provisions, run: &run, merges }.make(&self.hold.yard, &self.task)?;
        // If it is refused, the lease keeper has noticed the loss, or is about to.
        self.tree = Some(made.map_err(|_| taskyard::Error::Cancelled)?);
        if let Some(reason) = reason {
            tracing::warn!(task = %self.task.id, reason, "a new worktree is used");
        }
        Ok(Entered::Runs)
    }

    /// Concludes after an error: the task is released, and the error is reported unless it concerns this task alone.
    pub(super) fn failed_by(&self, error: WorkError) -> Outcome {
        let given_back = match &error {
            // A problem specific to this task fails the attempt; any other error would affect every task.
            WorkError::Worktree(GitError::Unfit(reason)) => {
                return self.give_back(Failure::NotMerged(reason.clone()), "").into();
            }
            WorkError::Yard(taskyard::Error::Cancelled) => return self.interrupted().into(),
            error => insist(|| self.hold.yard.give_back_interrupted(&self.task.id, &error.to_string())),
        };
        let conclusion = match given_back {
            Ok(_) => Err(error),
            Err(error) => Err(error.into()),
        };
        Outcome { conclusion, retires: false, left_behind: Vec::new() }
    }

    /// Reopens a task that the agent completed before its branch was merged; `None` if it may stay completed.
    pub(super) fn reopened_for_merge(&self) -> Result<Option<Self>, WorkError> {
        if self.site.order.worktrees.as_ref().is_none_or(|trees| !trees.merges()) {
            return Ok(None);
        }
        let yard = &self.hold.yard;
        let task = yard.store().read(yard.list_id())?.find(&self.task.id)?.task();
        let Some(task) = task.filter(|task| awaits_merge(task).is_some()) else { return Ok(None) };
        let worker = self.worker.name.as_str().to_owned();
        let patch =
            Patch { status: Some(Status::InProgress), owner: Some(OwnerChange::Set(worker)), ..Patch::default() };
        let update = Update { patch, lease_for_owner: Some(self.site.order.ttl), ..Update::default() };
        let updated = match yard.overruling().update(&task.id, update)? {
            Done::Done(updated) => updated,
            Done::Refused(_) => return Ok(None),
        };
        let Some(lease) = updated.lease else { return Ok(None) };
        let hold = Hold { yard: yard.proving(lease.token), token: lease.token, ..self.hold.clone() };
        Ok(Some(Self { hold, task: updated.task, ..self.clone() }))
    }

    /// Merges what a successful command left in its worktree, or passes it to review.
    pub(super) fn finish_branch(&self, yard: &Yard, tree: &TaskWorktree) -> Result<Conclusion, WorkError> {
        let Some(trees) = &self.site.order.worktrees else { return Ok(self.meet_fate()?) };
        let (repository, path) = (&trees.repository, Path::new(&tree.path));
        let message = self.message();
        if let Some(reason) = repository.obstacle(path, &tree.branch)? {
            return Ok(self.give_back(Failure::NotMerged(reason), "")?);
        }
        if !trees.commits {
            return self.leave_to_person(
                yard,
                tree,
                "the command's changes are not committed; commit and approve them",
            );
        }
        let tip = match repository.commit_leftovers(path, &message) {
            Ok(tip) => tip,
            Err(GitError::Failed { command, said }) => {
                let reason = format!("git {command} failed in its worktree\n{said}");
                return Ok(self.give_back(Failure::NotMerged(reason), "")?);
            }
            Err(error) => return Err(error.into()),
        };
        if tree.from.as_ref() == Some(&tip) {
            let merged = tree.in_state(WorktreeState::Merged);
            return self.complete_branch(yard, &merged, Some("completed without a commit: nothing was changed"));
        }
        let tree = TaskWorktree { changes: Some(repository.change_size(&tree.branch)?), ..tree.clone() };
        repository.publish(&tree.branch)?;
        match &trees.merging {
            _ if trees.review && !tree.approved => {
                let tree = TaskWorktree { tip: Some(tip), ..tree };
                self.leave_to_person(yard, &tree, "waits for a review of its branch")
            }
            None => {
                let finished = TaskWorktree { tip: Some(tip), ..tree.in_state(WorktreeState::Finished) };
                self.complete_branch(yard, &finished, None)
            }
            Some(merging) => {
                let now = yard.store().now()?.wall;
                self.merge(yard, tree.queued_with(&tip, now), merging)
            }
        }
    }

    /// Merges a finished branch through the queue, and completes its task.
    fn merge(&self, yard: &Yard, tree: TaskWorktree, order: &MergeOrder) -> Result<Conclusion, WorkError> {
        let Some(trees) = &self.site.order.worktrees else { return Ok(self.meet_fate()?) };
        let stop = self.site.stop.part();
        let asked_to_end = stop.clone();
        // The lease has to be renewed in the queue as well.
        let keeper = Keeper::of(self.hold.clone(), self.site.order.ttl, move |_| asked_to_end.ask());
        let run = |line: &str, place: &Path| self.run_for_git(line, place, &stop);
        let tell = |news: MergeNews<'_>| {
            let task = Box::new(self.task.clone());
            self.site.tell(match news {
                MergeNews::Merging(tree) => {
                    WorkEvent::Merging { task, branch: tree.branch.clone(), base: tree.base.clone() }
                }
                MergeNews::Waiting(reason) => WorkEvent::MergeWaits { task, reason: reason.to_owned() },
            });
        };
        let merger = Merger {
            repository: &trees.repository,
            method: order.method,
            provisions: &trees.provisions,
            run: &run,
            check: order.check.as_deref(),
            tell: &tell,
            cancel: stop.asked(),
        };
        let outcome = merger.bring(yard, &self.task, tree, &self.message());
        if let Some(loss) = keeper.finish() {
            return Ok(self.lost(loss)?);
        }
        let outcome = if stop.asked().is_cancelled() { outcome.or(Ok(MergeOutcome::Stopped)) } else { outcome };
        let outcome = match outcome {
            // Git may fail for this branch alone, or because of what another process did at that moment.
            Err(QueueError::Git(error)) => return Ok(self.give_back(Failure::NotMerged(error.to_string()), "")?),
            outcome => outcome?,
        };
        match outcome {
            MergeOutcome::Merged(tree) => {
                let note = tree.merged.is_none().then_some("completed without a commit: its branch changes nothing");
                self.complete_branch(yard, &tree, note)
            }
            MergeOutcome::Failed(tree, reason) => {
                insist(|| yard.set_worktree(&self.task.id, &tree, None))?;
                Ok(self.give_back(Failure::NotMerged(reason), "")?)
            }
            MergeOutcome::Blocked(by) => {
                let by = by.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ");
                self.hand_back(&format!("its branch is finished, and will be merged after {by}"))
            }
            MergeOutcome::Stopped => Ok(self.interrupted()?),
            MergeOutcome::Gone if self.hold.is_ours()? => self.hand_back("its branch was removed from the queue"),
            MergeOutcome::Gone => Ok(self.meet_fate()?),
        }
    }

    /// Completes the task, and removes its worktree if everything in it is in the base.
    fn complete_branch(&self, yard: &Yard, tree: &TaskWorktree, note: Option<&str>) -> Result<Conclusion, WorkError> {
        let done = insist(|| yard.complete_merged(&self.task.id, tree, note));
        self.site.tell_warnings();
        let updated = match done? {
            Done::Done(updated) => updated,
            Done::Refused(taskyard::core::rules::refusal::Refusal::StaleToken { .. }) => return Ok(self.meet_fate()?),
            Done::Refused(refusal) => {
                insist(|| yard.set_worktree(&self.task.id, tree, None))?;
                return Ok(self.give_back(Failure::Refused(refusal), "")?);
            }
        };
        reach("worktree: completed");
        if let Some(trees) = self.site.order.worktrees.as_ref().filter(|_| tree.state == WorktreeState::Merged)
            && let Err(error) = trees.repository.remove_merged(tree)
        {
            tracing::warn!(%error, "a merged worktree stays");
        }
        self.site.tell(WorkEvent::Completed(self.over(updated.task)));
        Ok(Conclusion::Completed)
    }

    fn leave_to_person(&self, yard: &Yard, tree: &TaskWorktree, why: &str) -> Result<Conclusion, WorkError> {
        let review =
            TaskWorktree { reason: Some(why.to_owned()), merges: true, ..tree.in_state(WorktreeState::Review) };
        insist(|| yard.set_worktree(&self.task.id, &review, None))?;
        match insist(|| yard.give_back_interrupted(&self.task.id, why))? {
            Done::Done(released) => {
                self.site.tell(WorkEvent::InReview(self.over(released.task)));
                Ok(Conclusion::InReview)
            }
            Done::Refused(_) => Ok(self.meet_fate()?),
        }
    }

    /// Releases the task without counting a failed attempt.
    fn hand_back(&self, why: &str) -> Result<Conclusion, WorkError> {
        match insist(|| self.hold.yard.give_back_interrupted(&self.task.id, why))? {
            Done::Done(released) => {
                let ended = self.over(released.task);
                self.site.tell(WorkEvent::Returned(ended, Failure::NotMerged(why.to_owned())));
                Ok(Conclusion::Returned)
            }
            Done::Refused(_) => Ok(self.meet_fate()?),
        }
    }

    /// Records that the attempt in the worktree failed, unless a more specific state is recorded.
    pub(super) fn note_failed_branch(&self, reason: &str) -> Result<(), taskyard::Error> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let yard = &self.hold.yard;
        let task = yard.store().read(yard.list_id())?.find(&self.task.id)?.task();
        let current = task.as_ref().and_then(worktree_of).filter(|current| current.branch == tree.branch);
        let is_open = |state| matches!(state, WorktreeState::Creating | WorktreeState::Working);
        if let Some(current) = current.filter(|current| is_open(current.state)) {
            let failed = TaskWorktree { reason: Some(reason.to_owned()), ..current.in_state(WorktreeState::Failed) };
            insist(|| yard.set_worktree(&self.task.id, &failed, None))?;
        }
        Ok(())
    }

    /// Records the state of the worktree, here and in the task.
    fn write_down(&mut self, tree: TaskWorktree) -> Result<(), WorkError> {
        match self.hold.yard.set_worktree(&self.task.id, &tree, None)? {
            Done::Done(_) => {
                self.tree = Some(tree);
                Ok(())
            }
            // The lease keeper has noticed the loss, or is about to.
            Done::Refused(_) => Err(taskyard::Error::Cancelled.into()),
        }
    }

    fn message(&self) -> Message {
        Message {
            subject: self.task.shown_subject().into_owned(),
            list: self.site.yard.list_id().clone(),
            task: self.task.id.clone(),
            author: self.worker.name.as_str().to_owned(),
        }
    }

    /// Runs a shell command for callers that only handle git errors.
    fn run_for_git(&self, line: &str, place: &Path, stop: &Stop) -> Result<Option<String>, GitError> {
        self.run_line(line, place, stop).map_err(|error| match error {
            WorkError::Worktree(error) => error,
            error => GitError::Unfit(error.to_string()),
        })
    }

    /// Runs a shell command under a supervisor; returns the end of its output if it did not exit with 0.
    fn run_line(&self, line: &str, place: &Path, stop: &Stop) -> Result<Option<String>, WorkError> {
        let order = &self.site.order;
        let variables =
            [("TASKYARD_TASK_ID", self.task.id.as_str()), ("TASKYARD_LIST", self.site.yard.list_id().directory())];
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let program = Program {
            command: CommandLine::Shell(line.to_owned()),
            directory: place.to_owned(),
            environment: order.jobs.options().environment.iter().cloned().chain(variables).collect(),
            stdin: Vec::new(),
            timeout: None,
        };
        let tail = Tail::default();
        let sink = || tail.sink(format!("#{}", self.task.id), &self.site.listener);
        let ending = order.jobs.run_tied(&program, [sink(), sink()], stop, || {});
        let how = match ending.map_err(|source| WorkError::CannotStart { program: line.to_owned(), source })? {
            Ending::Exited(0) => return Ok(None),
            Ending::Exited(code) => format!("`{line}` ended with exit code {code}"),
            Ending::Signalled(signal) => format!("`{line}` was ended by signal {signal}"),
            Ending::TimedOut | Ending::Cancelled => return Err(taskyard::Error::Cancelled.into()),
        };
        Ok(Some(format!("{how}\n{}", tail.text())))
    }
}

impl WorktreeOrder {
    /// Returns whether tasks are completed only by merging their branches.
    pub(super) fn merges(&self) -> bool {
        self.merging.is_some() || self.review || !self.commits
    }
}
