//! What `doctor` reports about worktrees that do not match their tasks, and the repair of interrupted moves.

use std::path::PathBuf;

use taskyard::core::{ListId, Task, TaskId};
use taskyard::process::Cancel;

use super::git::GitError;
use super::listing::{Listed, WorktreeCondition};
use super::repository::Repository;

/// A finding about a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// A stable code.
    pub code: &'static str,
    /// The task, if any.
    pub task: Option<TaskId>,
    /// The worktree or checkout.
    pub path: PathBuf,
    /// A description.
    pub message: String,
    /// What it implies.
    pub means: &'static str,
    /// Whether [`Repository::finish`] would repair it.
    pub can_be_finished: bool,
}

impl Repository {
    /// Describes every worktree of ours that does not match its task, and every checkout with an unfinished move.
    pub fn explain(&self, list: &ListId, tasks: &[Task]) -> Result<Vec<Explanation>, GitError> {
        let unfinished = self.unfinished_moves()?.into_iter().map(|path| Explanation {
            code: "checkout_half_moved",
            task: None,
            message: format!("`{}` was being moved to a merged commit when that was killed", path.display()),
            path,
            means: "its index is locked until the move is finished or taken back",
            can_be_finished: true,
        });
        let listed = self.list(list, tasks)?;
        Ok(unfinished.chain(listed.iter().filter(|one| one.maker == "taskyard").filter_map(explained)).collect())
    }

    /// Finishes or reverts moves that killed processes left unfinished, and returns their checkouts.
    pub fn finish(&self, cancel: &Cancel) -> Result<Vec<PathBuf>, GitError> {
        match self.lock_merging(cancel)? {
            Some(lock) => self.finish_moves(&lock),
            None => Ok(Vec::new()),
        }
    }
}

fn explained(listed: &Listed) -> Option<Explanation> {
    let (path, branch) = (listed.path.display(), listed.branch.as_deref().unwrap_or("none"));
    let wanted = listed.tree.as_ref().map(|tree| tree.branch.as_str()).unwrap_or_default();
    let (code, message, means) = match listed.condition {
        WorktreeCondition::Fine | WorktreeCondition::NoTask | WorktreeCondition::Merged => return None,
        WorktreeCondition::Superseded => (
            "worktree_superseded",
            format!("no task uses the worktree `{path}` (branch {branch}) any longer"),
            "an attempt left it; `taskyard worktrees clean` removes it unless something in it is uncommitted",
        ),
        WorktreeCondition::Unmerged => (
            "worktree_unmerged",
            format!("its task is completed, but {branch} in `{path}` is not merged"),
            "its commits are only in that branch",
        ),
        WorktreeCondition::Switched => (
            "worktree_switched",
            format!("`{path}` has the branch {branch} checked out, not {wanted}"),
            "it was switched by hand; nothing is done there until its branch is checked out again",
        ),
        WorktreeCondition::Moved => (
            "worktree_moved",
            format!("the worktree with the branch {branch} is not where its task or git expects it: `{path}`"),
            "it was moved or removed by hand; `git worktree repair` or `git worktree prune` updates git",
        ),
        WorktreeCondition::Removed => (
            "worktree_removed",
            format!("`{path}` no longer exists; its branch {branch} does"),
            "it was removed by hand; the next attempt gets a new one, and a finished branch is merged anyway",
        ),
        WorktreeCondition::Lost => (
            "worktree_lost",
            format!("neither `{path}` nor its branch {branch} is in this repository"),
            "they were removed by hand, or are on another machine",
        ),
    };
    let task = listed.task.clone();
    Some(Explanation { code, task, path: listed.path.clone(), message, means, can_be_finished: false })
}
