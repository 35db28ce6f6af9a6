//! Worktrees of tasks and their branches.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::Shape;
use crate::rules::worktrees::record::{TaskWorktree, WorktreeState};

/// The worktrees of a repository.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Worktrees<'a> {
    /// The base branch: the one that is checked out here
    pub base: &'a str,
    /// The worktrees
    pub worktrees: Vec<Worktree>,
}

/// A worktree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Worktree {
    /// Its path, or its former path
    pub path: String,
    /// Its branch; null if HEAD is detached
    pub branch: Option<String>,
    /// The id of its task, or null
    pub task: Option<String>,
    /// The state that its task records
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<WorktreeState>,
    /// Whether it matches the record of its task: `fine`, `no_task`, `superseded`, `merged`, `unmerged`, `switched`, `moved`, `removed` or `lost`
    pub condition: &'static str,
    /// What created it: `taskyard`, `claude` or `git`
    pub maker: &'static str,
    /// When it was created; null if it does not exist
    pub made: Option<String>,
    /// The size of its files in bytes
    pub size: u64,
    /// The number of its commits that are not in the base; null if unknown
    pub ahead: Option<u64>,
    /// The number of commits of the base that it does not have; null if unknown
    pub behind: Option<u64>,
    /// The number of files with uncommitted changes
    pub uncommitted: u64,
    /// Why it is locked, if it is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
}

/// Worktrees that were removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreesCleaned {
    /// The worktrees
    pub removed: Vec<String>,
    /// The branches that were deleted with them
    pub branches: Vec<String>,
    /// Worktrees that were kept although their tasks no longer need them
    pub kept: Vec<KeptWorktree>,
    /// True if nothing was removed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// A worktree that was kept.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeptWorktree {
    /// Its path
    pub path: String,
    /// Why it was kept
    pub why: String,
}

/// A branch that was merged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchMerged<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The commit in the base; null if the branch changes nothing
    pub commit: Option<&'a str>,
    /// The base branch
    pub base: &'a str,
}

/// The worktree of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskInWorktree<'a> {
    /// The id of the task
    pub task: &'a str,
    /// Its worktree
    pub worktree: &'a TaskWorktree,
}

/// The changes of a branch since it left its base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchDiff<'a> {
    /// The id of the task
    pub task: &'a str,
    /// The branch
    pub branch: &'a str,
    /// The base branch
    pub base: &'a str,
    /// The path of the worktree
    pub path: &'a str,
    /// The changes, as `git diff` writes them
    pub diff: &'a str,
}
