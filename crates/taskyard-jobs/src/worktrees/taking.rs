//! Assigning worktrees to tasks, for workers, agents and people.

use std::path::Path;

use taskyard::core::Task;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::rules::worktrees::record::{TaskWorktree, WorktreeState, worktree_of};
use taskyard::failpoint::reach;
use taskyard::{Error, Outcome, Yard};

use super::git::{CommandRunner, GitError};
use super::provisions::Provisions;
use super::queue::QueueError;
use super::repository::Repository;

/// How many names are tried if other processes take the free ones.
const NAMES: u32 = 5;

/// Creates the worktrees of tasks.
pub struct WorktreeMaker<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// What each worktree gets in addition to the files of the base.
    pub provisions: &'a Provisions,
    /// Runs a shell command in a directory; returns what is wrong, or `None` if it exited with 0.
    pub run: CommandRunner<'a>,
    /// Whether the task is completed only by merging its branch.
    pub merges: bool,
}

impl WorktreeMaker<'_> {
    /// Creates a worktree for a task that the actor holds. It is recorded before it is created, and again when it is
    /// ready.
    pub fn make(&self, yard: &Yard, task: &Task) -> Result<Result<TaskWorktree, Refusal>, QueueError> {
        let others = yard.store().read(yard.list_id()).and_then(|list| list.tasks()).map_err(Error::from)?;
        let before = unmerged_before(task, &others);
        let earlier = worktree_of(task).map(|tree| tree.branch);
        let mut attempt = 1;
        loop {
            let named = self.repository.next_name(task, earlier.as_deref())?;
            let path = named.path.to_string_lossy().into_owned();
            let tree = TaskWorktree::new(named.branch.clone(), self.repository.base().to_owned(), path);
            let tree = TaskWorktree { merges: self.merges, ..tree };
            if let Outcome::Refused(refusal) = yard.set_worktree(&task.id, &tree, None)? {
                return Ok(Err(refusal));
            }
            reach("worktree: named");
            let made = match self.repository.create(
                &named,
                self.provisions,
                &before,
                &format!("{}#{}", yard.list_id(), task.id),
            ) {
                Err(GitError::Failed { .. }) if attempt < NAMES && self.repository.is_taken(&named)? => {
                    attempt += 1;
                    continue;
                }
                made => made?,
            };
            if let Some(setup) = &self.provisions.setup
                && let Some(said) = (self.run)(setup, &made.path)?
            {
                return Err(GitError::Unfit(format!("its worktree could not be set up\n{said}")).into());
            }
            let working = TaskWorktree { from: Some(made.from), ..tree.in_state(WorktreeState::Working) };
            return Ok(match yard.set_worktree(&task.id, &working, None)? {
                Outcome::Done(_) => Ok(working),
                Outcome::Refused(refusal) => Err(refusal),
            });
        }
    }

    /// Returns the existing worktree of a task if work can continue in it, or else creates a new one.
    pub fn go_on_or_make(&self, yard: &Yard, task: &Task) -> Result<Result<TaskWorktree, Refusal>, QueueError> {
        let earlier = worktree_of(task).filter(|tree| tree.state != WorktreeState::Merged);
        let Some(tree) = earlier else { return self.make(yard, task) };
        if self.repository.obstacle(Path::new(&tree.path), &tree.branch)?.is_some() {
            return self.make(yard, task);
        }
        let tree = TaskWorktree { is_continued: false, approved: false, ..tree.in_state(WorktreeState::Working) };
        Ok(match yard.set_worktree(&task.id, &tree, None)? {
            Outcome::Done(_) => Ok(tree),
            Outcome::Refused(refusal) => Err(refusal),
        })
    }
}

/// Returns the unmerged branches of the tasks that block a task, according to their records.
fn unmerged_before(task: &Task, others: &[Task]) -> Vec<String> {
    let trees = others.iter().filter(|other| task.blocked_by.contains(&other.id)).filter_map(worktree_of);
    trees.filter(|tree| tree.state != WorktreeState::Merged).map(|tree| tree.branch).collect()
}
