//! Committing what a command left uncommitted, and the state of finished branches.

use std::path::Path;

use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::core::{ListId, TaskId};
use taskyard::failpoint::reach;

use super::checkouts::{commit_at, contains, uncommitted};
use super::git::{Git, GitError};
use super::repository::Repository;

/// The trailer that names the task.
pub const TRAILER: &str = "Taskyard-Task";

/// The contents of a commit message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The first line.
    pub subject: String,
    /// The list of the task.
    pub list: ListId,
    /// The task.
    pub task: TaskId,
    /// The author to use if git has none configured.
    pub author: String,
}

impl Message {
    /// Returns the commit message with this first line.
    pub(super) fn text(&self, first: &str) -> String {
        let mut first: String = first.split_whitespace().collect::<Vec<_>>().join(" ");
        if first.is_empty() {
            first = format!("Task {}", self.task);
        }
        format!("{first}\n\n{TRAILER}: {}#{}\n", self.list, self.task)
    }

    /// Returns settings that name an author, if git has none configured.
    pub(super) fn identity(&self, git: &Git) -> Result<Vec<String>, GitError> {
        if git.try_run(&["var", "GIT_COMMITTER_IDENT"])?.is_some() {
            return Ok(Vec::new());
        }
        let name = self.author.replace(['<', '>', '\n'], " ");
        Ok(["-c", &format!("user.name={name}"), "-c", "user.email=agent@taskyard.invalid"].map(str::to_owned).to_vec())
    }
}

impl Repository {
    /// Commits the uncommitted changes of a worktree, running the copied hooks. Returns the last commit of the branch.
    pub fn commit_leftovers(&self, worktree: &Path, message: &Message) -> Result<String, GitError> {
        let git = self.git_with_hooks(worktree);
        if !uncommitted(&git)?.is_empty() {
            git.run(&["add", "--all"])?;
            reach("worktree: staged");
            let text = message.text(&message.subject);
            let commit = ["commit", "--quiet", "-m", &text].map(str::to_owned);
            let words = [message.identity(&git)?, commit.to_vec()].concat();
            git.run(&words)?;
            reach("worktree: committed");
        }
        let tip = commit_at(&git, "HEAD")?;
        tip.ok_or_else(|| GitError::Unfit(format!("`{}` has no commit", worktree.display())))
    }

    /// Returns whether a worktree has no uncommitted changes.
    pub fn is_clean(&self, worktree: &Path) -> Result<bool, GitError> {
        Ok(uncommitted(&self.git_in(worktree))?.is_empty())
    }

    /// Returns whether a branch is at the commit at which it was finished, or in the base already.
    pub fn is_finished(&self, tree: &TaskWorktree) -> Result<bool, GitError> {
        let tip = self.tip(&tree.branch)?;
        if tip.is_some() && tip == tree.tip || self.is_published(tree)? {
            return Ok(true);
        }
        let base = self.base_commit()?;
        for candidate in &tree.candidates {
            if contains(&self.git(), &base, candidate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Merges the commit that merged a branch back into its worktree, in which work continues. The worktree must have
    /// no uncommitted changes.
    pub fn catch_up(&self, worktree: &Path, merged: &str) -> Result<(), GitError> {
        let git = self.git_in(worktree);
        if git.try_run(&["merge", "--quiet", "--no-verify", "--no-edit", merged])?.is_none() {
            // Its own work is safe; the next user of the worktree can merge the base.
            git.try_run(&["merge", "--abort"])?;
        }
        Ok(())
    }

    /// Pushes a finished branch to the remote of the base, so that another machine can merge it.
    pub fn publish(&self, branch: &str) -> Result<(), GitError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let refspec = format!("+refs/heads/{branch}:refs/heads/{branch}");
        self.git().run(&["push", "--quiet", "--no-verify", remote, &refspec]).map(drop)
    }
}
