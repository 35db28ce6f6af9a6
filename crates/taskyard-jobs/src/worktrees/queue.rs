//! The merge queue: a finished branch waits for its turn, is merged and checked, and its task is completed or released.

use std::path::Path;
use std::time::{Duration, Instant};

use taskyard::core::rules::refusal::Refusal;
use taskyard::core::rules::worktrees::queue::Turn;
use taskyard::core::rules::worktrees::record::{TaskWorktree, WorktreeState};
use taskyard::core::{Task, TaskId};
use taskyard::failpoint::reach;
use taskyard::lease_watch::Alarm;
use taskyard::process::Cancel;
use taskyard::{Error, Outcome, Yard};

use super::committing::Message;
use super::git::{CommandRunner, GitError};
use super::merging::{Check, Merge, Method, Order};
use super::provisions::Provisions;
use super::repository::Repository;

/// How soon to check again whether a checkout is clean, because git sends no notification.
const SOON: Duration = Duration::from_secs(1);

/// Merges branches through the queue of a list.
pub struct Merger<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// How branches are merged into the base.
    pub method: Method,
    /// What the merge worktree gets in addition to the files of the base.
    pub provisions: &'a Provisions,
    /// Runs a shell command in a directory; returns what is wrong, or `None` if it exited with 0.
    pub run: CommandRunner<'a>,
    /// A shell command that checks every merged state.
    pub check: Option<&'a str>,
    /// Receives progress events.
    pub tell: &'a dyn Fn(MergeNews<'_>),
    /// Cancels waiting.
    pub cancel: &'a Cancel,
}

/// A progress event of a branch in the queue.
#[derive(Clone, Debug)]
pub enum MergeNews<'a> {
    /// Its turn has come.
    Merging(&'a TaskWorktree),
    /// It waits, for this reason.
    Waiting(&'a str),
}

/// The result of merging a branch through the queue.
#[derive(Clone, Debug)]
pub enum MergeOutcome {
    /// It is in the base, or changes nothing; the record has the commit.
    Merged(TaskWorktree),
    /// It was not merged; the record and the text say why. The record's state is that of a failed attempt.
    Failed(TaskWorktree, String),
    /// It is blocked by open tasks, and stays in the queue.
    Blocked(Vec<TaskId>),
    /// It was removed from the queue, or its task belongs to another agent now.
    Gone,
    /// Waiting was cancelled; it stays in the queue.
    Stopped,
}

/// Why merging failed for a reason unrelated to the branch.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The store failed.
    #[error(transparent)]
    Yard(#[from] Error),
}

impl Merger<'_> {
    /// Merges the branch of a task into the base. The yard must prove the lease on the task. The task is queued from
    /// the start, and is not completed here.
    pub fn bring(
        &self,
        yard: &Yard,
        task: &Task,
        tree: TaskWorktree,
        message: &Message,
    ) -> Result<MergeOutcome, QueueError> {
        // A turn that a killed process had is not ours.
        let mut tree = tree.in_state(WorktreeState::Queued);
        if let Outcome::Refused(refusal) = yard.set_worktree(&task.id, &tree, None)? {
            return Ok(gone(&refusal));
        }
        reach("worktree: queued");
        let mut alarm = Alarm::set(yard)?;
        let handle = alarm.handle();
        let _woken = self.cancel.on_cancel(move || handle.stop());
        let (mut checked, mut told) = (None, None);
        loop {
            if self.cancel.is_cancelled() {
                return Ok(MergeOutcome::Stopped);
            }
            match yard.take_merge_turn(&task.id)? {
                Outcome::Done(Turn::Ours) => {}
                Outcome::Done(Turn::After(_)) => {
                    alarm.wait_at_most(yard, Some(Instant::now() + Duration::from_secs(20)), None)?;
                    continue;
                }
                Outcome::Done(Turn::Blocked(by)) => return Ok(MergeOutcome::Blocked(by)),
                Outcome::Done(Turn::NotQueued) => return Ok(MergeOutcome::Gone),
                Outcome::Refused(refusal) => return Ok(gone(&refusal)),
            }
            reach("worktree: turn taken");
            (self.tell)(MergeNews::Merging(&tree));
            let Some(lock) = self.repository.lock_merging(self.cancel)? else { return Ok(MergeOutcome::Stopped) };
            let mut noted = tree.clone();
            let merged = {
                let prepare: &mut Check<'_> = &mut |place| self.prepare(place);
                let check: &mut Check<'_> = &mut |place| self.passes(yard, task, place);
                let note = &mut |candidate: &str| {
                    noted = noted.with_candidate(candidate);
                    let merging = noted.in_state(WorktreeState::Merging);
                    match yard.set_worktree(&task.id, &merging, None) {
                        Ok(Outcome::Done(_)) => Ok(true),
                        Ok(Outcome::Refused(_)) => Ok(false),
                        Err(error) => Err(GitError::Unfit(error.to_string())),
                    }
                };
                let order = Order { method: self.method, message, lock: &lock, prepare, check, note };
                self.repository.merge(&tree, order, &mut checked)?
            };
            drop(lock);
            tree = noted;
            return Ok(match merged {
                Merge::Merged(commit) => {
                    reach("worktree: merged");
                    MergeOutcome::Merged(TaskWorktree { merged: Some(commit), ..tree.in_state(WorktreeState::Merged) })
                }
                Merge::Nothing => MergeOutcome::Merged(tree.in_state(WorktreeState::Merged)),
                Merge::Conflict { files, with } => {
                    let own = format!("{}#", yard.list_id());
                    let with: Vec<String> =
                        with.into_iter().map(|task| task.strip_prefix(&own).unwrap_or(&task).to_owned()).collect();
                    let reason = conflict_in_words(&tree.base, &files, &with);
                    let tree = TaskWorktree {
                        reason: Some(reason.clone()),
                        conflicts: files,
                        conflicts_with: with,
                        ..tree.in_state(WorktreeState::Conflict)
                    };
                    MergeOutcome::Failed(tree, reason)
                }
                Merge::CheckFailed(said) if self.cancel.is_cancelled() => {
                    tracing::debug!(%said, "a check was ended");
                    MergeOutcome::Stopped
                }
                Merge::CheckFailed(said) => {
                    let reason = format!("the check failed on the state merged with {}\n{said}", tree.base);
                    let tree =
                        TaskWorktree { reason: Some(reason.clone()), ..tree.in_state(WorktreeState::CheckFailed) };
                    MergeOutcome::Failed(tree, reason)
                }
                Merge::Refused(reason) => {
                    let tree = TaskWorktree { reason: Some(reason.clone()), ..tree.in_state(WorktreeState::Failed) };
                    MergeOutcome::Failed(tree, reason)
                }
                Merge::Waiting { checkout, why } => {
                    let reason = format!("waits for the checkout `{}`: {why}", checkout.display());
                    if told.as_ref() != Some(&reason) {
                        (self.tell)(MergeNews::Waiting(&reason));
                        told = Some(reason.clone());
                    }
                    let waiting = TaskWorktree { reason: Some(reason), ..tree.in_state(WorktreeState::Waiting) };
                    if let Outcome::Refused(refusal) = yard.set_worktree(&task.id, &waiting, None)? {
                        return Ok(gone(&refusal));
                    }
                    let until = Instant::now() + SOON;
                    while Instant::now() < until && !self.cancel.is_cancelled() {
                        alarm.wait_at_most(yard, Some(until), None)?;
                    }
                    continue;
                }
            });
        }
    }

    fn prepare(&self, place: &Path) -> Result<Option<String>, GitError> {
        self.repository.provide(self.provisions, place)?;
        self.provisions.setup.as_deref().map_or(Ok(None), |setup| (self.run)(setup, place))
    }

    fn passes(&self, yard: &Yard, task: &Task, place: &Path) -> Result<Option<String>, GitError> {
        if let Some(check) = self.check
            && let Some(said) = (self.run)(check, place)?
        {
            return Ok(Some(said));
        }
        match yard.check_in(place, task) {
            Ok(None) => Ok(None),
            Ok(Some(Refusal::CheckFailed { check, ended, output, .. })) => {
                Ok(Some(format!("check {check} {ended}\n{output}")))
            }
            Ok(Some(refusal)) => Ok(Some(refusal.to_string())),
            Err(error) => Err(GitError::Unfit(error.to_string())),
        }
    }
}

fn gone(refusal: &Refusal) -> MergeOutcome {
    tracing::debug!(%refusal, "a branch is not brought forward any more");
    MergeOutcome::Gone
}

fn conflict_in_words(base: &str, files: &[String], with: &[String]) -> String {
    let with = match with {
        [] => String::new(),
        with => format!(", which {} changed", with.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")),
    };
    format!("conflicts with {base} in {}{with}", files.join(", "))
}
