//! Worktrees of tasks and their branches.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::Shape;
use crate::rules::worktrees::record::{TaskWorktree, WorktreeState};

/// The worktrees of a repository.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Worktrees<'a> {
    /// The base: the branch that is checked out here
    pub base: &'a str,
    /// The worktrees
    pub worktrees: Vec<Worktree>,
}

/// A worktree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Worktree {
    /// Where it is, or was
    pub path: String,
    /// Its branch; null if HEAD is detached
    pub branch: Option<String>,
    /// The id of its task, or null
    pub task: Option<String>,
    /// What its task says of it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<WorktreeState>,
    /// Whether it is as its task says: `fine`, `no_task`, `superseded`, `merged`, `unmerged`, `switched`, `moved`, `removed` or `lost`
    pub condition: &'static str,
    /// What made it: `taskyard`, `claude` or `git`
    pub maker: &'static str,
    /// When it was made, if it is there
    pub made: Option<String>,
    /// How many bytes its files have
    pub size: u64,
    /// How many commits it has that the base does not have
    pub ahead: Option<u64>,
    /// How many commits the base has that it does not have
    pub behind: Option<u64>,
    /// How many files in it are uncommitted
    pub uncommitted: u64,
    /// Why it is locked
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
}

/// Worktrees that were removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreesCleaned {
    /// The worktrees
    pub removed: Vec<String>,
    /// The branches that went with them
    pub branches: Vec<String>,
    /// The worktrees that stay although their tasks have left them
    pub kept: Vec<Kept>,
    /// True if nothing was removed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// A worktree that stays.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Kept {
    /// Where it is
    pub path: String,
    /// Why it stays
    pub why: String,
}

/// A branch that was merged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Merged<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The commit in the base; null if the branch changes nothing
    pub commit: Option<&'a str>,
    /// The base
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

/// What a branch changes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchDiff<'a> {
    /// The id of the task
    pub task: &'a str,
    /// The branch
    pub branch: &'a str,
    /// The base
    pub base: &'a str,
    /// The worktree
    pub path: &'a str,
    /// The changes, as `git diff` writes them
    pub diff: &'a str,
}
