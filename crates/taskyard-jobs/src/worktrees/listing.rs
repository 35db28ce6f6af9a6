//! The worktrees of a repository, each with its task and condition.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use taskyard::core::rules::worktrees::naming::PREFIX;
use taskyard::core::rules::worktrees::record::{TaskWorktree, WorktreeState, worktree_of};
use taskyard::core::{ListId, Task, TaskId};

use super::checkouts::{Checkout, commit_at, contains, is_same_place, own_directory, uncommitted, unless_removed};
use super::creating::OWNER;
use super::git::GitError;
use super::repository::Repository;

/// A worktree of the repository, or one that a task refers to.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its path, or former path.
    pub path: PathBuf,
    /// Its branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// The task's record of it.
    pub tree: Option<TaskWorktree>,
    /// What created it.
    pub maker: &'static str,
    /// When it was created.
    pub made: Option<SystemTime>,
    /// The size of its files in bytes.
    pub size: u64,
    /// The number of commits it is ahead of and behind the base.
    pub ahead_behind: Option<(u64, u64)>,
    /// The number of files with uncommitted changes.
    pub uncommitted: usize,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
    /// Whether it matches the record of its task.
    pub condition: WorktreeCondition,
}

/// Whether a worktree matches the record of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeCondition {
    /// It matches.
    Fine,
    /// It belongs to no task.
    NoTask,
    /// Its task has another worktree now, or none.
    Superseded,
    /// Its task is completed, and its branch is merged into the base.
    Merged,
    /// Its task is completed, and its branch is not merged into the base.
    Unmerged,
    /// Another branch is checked out than its task records.
    Switched,
    /// Its directory is not at the path that git knows.
    Moved,
    /// It was removed; its branch still exists.
    Removed,
    /// It was removed, and its branch as well.
    Lost,
}

impl WorktreeCondition {
    /// Returns the code that is used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::NoTask => "no_task",
            Self::Superseded => "superseded",
            Self::Merged => "merged",
            Self::Unmerged => "unmerged",
            Self::Switched => "switched",
            Self::Moved => "moved",
            Self::Removed => "removed",
            Self::Lost => "lost",
        }
    }
}

/// The maximum number of files that are counted for the size of a worktree.
const COUNTED: usize = 200_000;

impl Repository {
    /// Returns all worktrees except the main checkout and the one for merges, and those that open tasks refer to but
    /// that do not exist.
    pub fn list(&self, list: &ListId, tasks: &[Task]) -> Result<Vec<Listed>, GitError> {
        let trees: Vec<(&Task, TaskWorktree)> =
            tasks.iter().filter_map(|task| Some((task, worktree_of(task)?))).collect();
        let base = commit_at(&self.git(), &self.base_ref())?;
        let checkouts = self.checkouts()?;
        let mut listed = Vec::new();
        for checkout in checkouts.iter().skip(1).filter(|checkout| !self.is_for_merges(&checkout.path)) {
            let found = self.listed(checkout, list, &trees, base.as_deref());
            listed.extend(unless_removed(&checkout.path, found)?);
        }
        for (task, tree) in trees.iter().filter(|(task, _)| task.status.is_open()) {
            let is_listed = listed.iter().any(|other| is_same_place(&other.path, Path::new(&tree.path)));
            if is_listed || matches!(tree.state, WorktreeState::Creating) {
                continue;
            }
            let has_branch = commit_at(&self.git(), &format!("refs/heads/{}", tree.branch))?.is_some();
            listed.push(Listed {
                path: tree.path.clone().into(),
                branch: Some(tree.branch.clone()),
                task: Some(task.id.clone()),
                tree: Some(tree.clone()),
                maker: "taskyard",
                made: None,
                size: 0,
                ahead_behind: None,
                uncommitted: 0,
                locked: None,
                condition: if has_branch { WorktreeCondition::Removed } else { WorktreeCondition::Lost },
            });
        }
        Ok(listed)
    }

    fn listed(
        &self,
        checkout: &Checkout,
        list: &ListId,
        trees: &[(&Task, TaskWorktree)],
        base: Option<&str>,
    ) -> Result<Listed, GitError> {
        let by_path = trees.iter().find(|(_, tree)| is_same_place(Path::new(&tree.path), &checkout.path));
        let by_branch = trees.iter().find(|(_, tree)| Some(&tree.branch) == checkout.branch.as_ref());
        let found = by_path.or(by_branch);
        let is_ours = checkout.branch.as_deref().is_some_and(|branch| branch.starts_with(PREFIX));
        let is_clients = checkout.path.components().any(|part| part.as_os_str() == ".claude");
        let is_in_base = match (base, &checkout.head) {
            (Some(base), Some(head)) => contains(&self.git(), base, head)?,
            _ => false,
        };
        let condition = match found {
            _ if checkout.is_gone => WorktreeCondition::Moved,
            None if self.was_made_for(checkout, list) => WorktreeCondition::Superseded,
            None => WorktreeCondition::NoTask,
            Some((_, tree)) if Some(&tree.branch) != checkout.branch.as_ref() => WorktreeCondition::Switched,
            Some((_, tree)) if !is_same_place(Path::new(&tree.path), &checkout.path) => WorktreeCondition::Moved,
            Some((task, _)) if task.status.is_open() => WorktreeCondition::Fine,
            Some((_, tree)) if is_in_base || tree.state == WorktreeState::Merged => WorktreeCondition::Merged,
            Some(_) => WorktreeCondition::Unmerged,
        };
        let git = self.git_in(&checkout.path);
        let ahead_behind = match (base, &checkout.head) {
            (Some(base), Some(head)) => self.ahead_behind(base, head)?,
            _ => None,
        };
        Ok(Listed {
            path: checkout.path.clone(),
            branch: checkout.branch.clone(),
            task: found.map(|(task, _)| task.id.clone()),
            tree: found.map(|(_, tree)| tree.clone()),
            maker: if is_ours || by_path.is_some() {
                "taskyard"
            } else if is_clients {
                "claude"
            } else {
                "git"
            },
            made: fs::metadata(checkout.path.join(".git")).and_then(|found| found.modified()).ok(),
            size: size_of(&checkout.path),
            ahead_behind,
            uncommitted: if checkout.is_gone { 0 } else { uncommitted(&git)?.count() },
            locked: checkout.locked.clone(),
            condition,
        })
    }

    fn ahead_behind(&self, base: &str, head: &str) -> Result<Option<(u64, u64)>, GitError> {
        let range = format!("{head}...{base}");
        let counted = self.git().try_run(&["rev-list", "--left-right", "--count", &range])?;
        Ok(counted.and_then(|counted| {
            let (ahead, behind) = counted.split_once('\t')?;
            Some((ahead.parse().ok()?, behind.parse().ok()?))
        }))
    }

    /// Returns whether a worktree was created for a task of this list. Those of other lists are left to them.
    fn was_made_for(&self, checkout: &Checkout, list: &ListId) -> bool {
        let Ok(own) = own_directory(&self.git_in(&checkout.path)) else { return false };
        let owner = fs::read_to_string(own.join(OWNER)).unwrap_or_default();
        owner.rsplit_once('#').is_some_and(|(owner, _)| owner == list.to_string())
    }

    pub(super) fn is_for_merges(&self, path: &Path) -> bool {
        is_same_place(path, &self.directory.join("merge"))
    }
}

/// Returns the total size of the files in a directory. Links are not followed.
fn size_of(directory: &Path) -> u64 {
    let (mut size, mut counted, mut left) = (0, 0, vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            counted += 1;
            if counted > COUNTED {
                return size;
            }
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                left.push(entry.path());
            } else if found.is_file() {
                size += found.len();
            }
        }
    }
    size
}
