//! Removing worktrees that are no longer needed. Git itself refuses to remove one with uncommitted changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::core::{ListId, Task};

use super::checkouts::{commit_at, contains, is_same_place, uncommitted, unless_removed};
use super::git::GitError;
use super::listing::{Listed, WorktreeCondition};
use super::repository::Repository;

/// The age above which a copy of hooks is no longer used by any process.
const LEFT_HOOKS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The result of a cleanup.
#[derive(Clone, Debug, Default)]
pub struct Cleaned {
    /// The worktrees that were removed.
    pub removed: Vec<PathBuf>,
    /// The branches that were deleted.
    pub branches: Vec<String>,
    /// Worktrees that were candidates and were kept.
    pub kept: Vec<Kept>,
}

/// A worktree that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its path.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

impl Repository {
    /// Removes the worktrees of merged or superseded tasks unless they have uncommitted changes, and branches that the
    /// base contains. With `is_dry`, only reports what would be removed.
    pub fn clean(&self, list: &ListId, tasks: &[Task], is_dry: bool) -> Result<Cleaned, GitError> {
        let mut cleaned = Cleaned::default();
        for listed in self.list(list, tasks)?.into_iter().filter(|listed| listed.maker == "taskyard") {
            if matches!(listed.condition, WorktreeCondition::Merged | WorktreeCondition::Superseded) {
                self.clean_one(&listed, is_dry, &mut cleaned)?;
            }
        }
        if !is_dry {
            self.remove_left_hooks()?;
        }
        Ok(cleaned)
    }

    fn clean_one(&self, listed: &Listed, is_dry: bool, cleaned: &mut Cleaned) -> Result<(), GitError> {
        let keep = |why: String| Kept { path: listed.path.clone(), why };
        if let Some(why) = &listed.locked {
            cleaned.kept.push(keep(format!("it is locked: {why}")));
            return Ok(());
        }
        if listed.uncommitted > 0 {
            cleaned.kept.push(keep(format!("it has {} uncommitted files", listed.uncommitted)));
            return Ok(());
        }
        if is_dry {
            cleaned.removed.push(listed.path.clone());
            return Ok(());
        }
        match self.remove(&listed.path, listed.branch.as_deref()) {
            Ok(is_branch_deleted) => {
                cleaned.removed.push(listed.path.clone());
                cleaned.branches.extend(listed.branch.clone().filter(|_| is_branch_deleted));
            }
            Err(GitError::Failed { said, .. }) => cleaned.kept.push(keep(said)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes a worktree, and its branch if the base contains it; returns whether the branch was deleted. Git refuses
    /// if the worktree is locked or has uncommitted changes.
    pub fn remove(&self, path: &Path, branch: Option<&str>) -> Result<bool, GitError> {
        let git = self.git();
        git.run(&["worktree", "remove", &path.to_string_lossy()])?;
        let Some(branch) = branch else { return Ok(false) };
        self.delete_branch_if_merged(branch)
    }

    /// Deletes a branch if the base contains it; returns whether it did.
    fn delete_branch_if_merged(&self, branch: &str) -> Result<bool, GitError> {
        let (git, name) = (self.git(), format!("refs/heads/{branch}"));
        let (Some(tip), Some(base)) = (commit_at(&git, &name)?, commit_at(&git, &self.base_ref())?) else {
            return Ok(false);
        };
        if !contains(&git, &base, &tip)? {
            return Ok(false);
        }
        self.delete_branch(branch, &tip)
    }

    /// Deletes a branch whose changes are in the base, here and on the remote, provided that it is still at this commit.
    fn delete_branch(&self, branch: &str, tip: &str) -> Result<bool, GitError> {
        let name = format!("refs/heads/{branch}");
        let deleted = self.git().try_run(&["update-ref", "-d", &name, tip])?.is_some();
        if let Some(remote) = &self.remote {
            let lease = format!("--force-with-lease={name}:{tip}");
            self.git().try_run(&["push", "--quiet", "--no-verify", &lease, remote, &format!(":{name}")])?;
        }
        Ok(deleted)
    }

    /// Removes the worktree and branch of a merged task, unless they contain anything that the base does not.
    pub fn remove_merged(&self, tree: &TaskWorktree) -> Result<(), GitError> {
        let path = Path::new(&tree.path);
        if !self.remove_if_clean(path, None)? && path.is_dir() {
            return Ok(());
        }
        // A squashed or rebased branch is not an ancestor of the base, but its changes are in it.
        if let (Some(tip), Some(_)) = (&tree.tip, &tree.merged)
            && self.delete_branch(&tree.branch, tip)?
        {
            return Ok(());
        }
        self.delete_branch_if_merged(&tree.branch).map(drop)
    }

    /// Removes a worktree if it has no uncommitted changes, and the branch if the base contains it. Returns `false` if the
    /// worktree stays.
    pub fn remove_if_clean(&self, path: &Path, branch: Option<&str>) -> Result<bool, GitError> {
        let is_listed = self.checkouts()?.iter().any(|checkout| is_same_place(&checkout.path, path));
        let uncommitted = || unless_removed(path, uncommitted(&self.git_in(path)));
        if !is_listed || !path.is_dir() || !uncommitted()?.is_some_and(|found| found.is_empty()) {
            return Ok(false);
        }
        match self.remove(path, branch) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove_left_hooks(&self) -> Result<(), GitError> {
        let ours = self.own_directory()?;
        for entry in fs::read_dir(&ours).map_err(GitError::io("cannot read", &ours))?.flatten() {
            let is_copy = entry.file_name().to_string_lossy().starts_with("hooks-");
            let made = entry.metadata().and_then(|found| found.modified()).ok();
            let is_old =
                made.and_then(|made| SystemTime::now().duration_since(made).ok()).is_some_and(|age| age > LEFT_HOOKS);
            if is_copy && is_old {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }
}
