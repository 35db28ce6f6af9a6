//! Creating the worktree of an attempt.

use std::fs;
use std::path::Path;

use taskyard::core::Task;
use taskyard::core::rules::worktrees::naming::{branch_name, worktree_name};
use taskyard::failpoint::reach;

use super::checkouts::{branch_of, commit_at, contains, going_on, is_same_place, own_directory};
use super::git::GitError;
use super::provisions::Provisions;
use super::repository::{Made, Repository};

/// The file in a worktree's git directory that names its list and task, so that other lists of the repository leave it
/// alone.
pub(super) const OWNER: &str = "taskyard-task";
/// How many names are tried.
const NAMES: u64 = 1000;

impl Repository {
    /// Returns the name, path and branch for the next worktree of a task: the first that neither a branch nor a
    /// directory uses. `earlier` is the branch of the last attempt, which may be on another machine.
    pub(super) fn next_name(&self, task: &Task, earlier: Option<&str>) -> Result<Made, GitError> {
        let git = self.git();
        for attempt in 1..=NAMES {
            let name = worktree_name(&task.id, &task.subject, attempt);
            let (branch, path) = (branch_name(&name), self.directory.join(&name));
            let is_earlier = self.remote.is_some() && earlier == Some(branch.as_str());
            let is_taken = is_earlier || commit_at(&git, &format!("refs/heads/{branch}"))?.is_some();
            if !is_taken && fs::symlink_metadata(&path).is_err() {
                return Ok(Made { path, branch, from: String::new() });
            }
        }
        Err(GitError::Unfit(format!(
            "task {} has {NAMES} branches already; `taskyard worktrees clean` removes merged ones",
            task.id
        )))
    }

    /// Returns whether another process has taken a name.
    pub(super) fn is_taken(&self, named: &Made) -> Result<bool, GitError> {
        Ok(commit_at(&self.git(), &format!("refs/heads/{}", named.branch))?.is_some())
    }

    /// Creates a worktree with a new branch from the base, and merges unmerged branches of blocking tasks into it.
    pub fn create(
        &self,
        named: &Made,
        provisions: &Provisions,
        before: &[String],
        owner: &str,
    ) -> Result<Made, GitError> {
        let from = self.base_commit()?;
        self.own_directory()?;
        fs::create_dir_all(&self.directory).map_err(|source| {
            let path = self.directory.clone();
            GitError::Io {
                doing: "cannot create (`[work] directory` in taskyard.toml sets another place)",
                path,
                source,
            }
        })?;
        let path = named.path.to_string_lossy().into_owned();
        let git = self.git_with_hooks(&self.top);
        git.run(&["worktree", "add", "--quiet", "--no-track", "-b", &named.branch, &path, &from])?;
        reach("worktree: added");
        let note = own_directory(&self.git_in(&named.path))?.join(OWNER);
        fs::write(&note, owner).map_err(GitError::io("cannot write", &note))?;
        for branch in before {
            self.bring_in(&named.path, branch)?;
        }
        self.provide(provisions, &named.path)?;
        reach("worktree: provided");
        Ok(Made { from, ..named.clone() })
    }

    /// Merges a branch into a new worktree, unless it is already contained.
    fn bring_in(&self, worktree: &Path, branch: &str) -> Result<(), GitError> {
        let git = self.git_in(worktree);
        let Some(tip) = self.tip(branch)? else { return Ok(()) };
        if contains(&git, "HEAD", &tip)? {
            return Ok(());
        }
        let message = format!("Merge branch '{branch}' into a branch that builds on it");
        let merged = git.run(&["merge", "--quiet", "--no-verify", "-m", &message, &tip]);
        if merged.is_err() {
            git.try_run(&["merge", "--abort"])?;
            return Err(GitError::Unfit(format!(
                "{branch}, which it builds on, conflicts with the base; merge that first"
            )));
        }
        Ok(())
    }

    /// Returns why work cannot continue in a worktree; `None` if it can.
    pub fn obstacle(&self, worktree: &Path, branch: &str) -> Result<Option<String>, GitError> {
        let shown = worktree.display();
        if !worktree.is_dir() {
            return Ok(Some(format!("its worktree `{shown}` no longer exists")));
        }
        let listed = self.checkouts()?;
        if !listed.iter().any(|checkout| is_same_place(&checkout.path, worktree)) {
            return Ok(Some(format!("`{shown}` is no longer a worktree of this repository")));
        }
        let git = self.git_in(worktree);
        if let Some(what) = going_on(&git)? {
            return Ok(Some(format!("{what} is in progress in `{shown}`")));
        }
        Ok(match branch_of(&git)? {
            Some(there) if there == branch => None,
            Some(there) => Some(format!("`{shown}` has the branch {there} checked out, not {branch}")),
            None => Some(format!("`{shown}` has no branch checked out, instead of {branch}")),
        })
    }
}
