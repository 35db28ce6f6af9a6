//! The worktree recorded in a task, under `metadata.worktree`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Metadata, Task, Timestamp};

/// The metadata key of the worktree record.
pub const WORKTREE: &str = "worktree";
/// The role that an agent needs to take a task awaiting review.
pub(crate) const REVIEWER: &str = "reviewer";
/// Maximum number of candidates to remember. More arise only if the base moves this often while one branch is checked.
const CANDIDATES: usize = 16;

/// The worktree of a task and its branch. Keys that a newer version wrote are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskWorktree {
    /// The branch
    pub branch: String,
    /// The branch into which it is to be merged
    pub base: String,
    /// The path of the worktree, on the machine that created it
    pub path: String,
    /// What is being done with it
    pub state: WorktreeState,
    /// The commit of the base from which the branch began
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether only merging the branch completes the task
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merges: bool,
    /// The last commit of the branch when it was finished
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<String>,
    /// When it was queued
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<String>,
    /// The commits that may have become its merge; once it is merged, exactly one of them is in the base
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// The commit in the base that last merged it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// Why it is in this state
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The files that conflict
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The tasks whose merges they conflict with
    #[serde(default, rename = "with", skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// How much the branch changes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeSize>,
    /// Whether the next attempt continues in this worktree
    #[serde(default, rename = "continue", skip_serializing_if = "std::ops::Not::not")]
    pub is_continued: bool,
    /// Whether a person has approved it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// What a newer version knows besides.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// How much a branch changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSize {
    /// How many files
    pub files: u64,
    /// How many lines it adds
    pub added: u64,
    /// How many lines it removes
    pub removed: u64,
}

impl fmt::Display for ChangeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} -{}", self.added, self.removed)
    }
}

/// What is being done with a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    /// It is being made.
    Creating,
    /// A command or a person works in it.
    Working,
    /// It is finished and waits for a person.
    Review,
    /// It is finished and waits for its turn to be merged.
    Queued,
    /// It is being merged and checked.
    Merging,
    /// It is ready to be merged and waits for a checkout of the base to be clean.
    Waiting,
    /// Its merge conflicts.
    Conflict,
    /// The check failed on the merged state.
    CheckFailed,
    /// The attempt failed.
    Failed,
    /// It is finished, and not to be merged.
    Finished,
    /// It is in the base.
    Merged,
}

impl WorktreeState {
    /// Returns the name used in metadata and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Working => "working",
            Self::Review => "review",
            Self::Queued => "queued",
            Self::Merging => "merging",
            Self::Waiting => "waiting",
            Self::Conflict => "conflict",
            Self::CheckFailed => "check_failed",
            Self::Failed => "failed",
            Self::Finished => "finished",
            Self::Merged => "merged",
        }
    }

    /// Returns what boards show of the state, or `None` if the status of the task says as much.
    pub const fn in_words(self) -> Option<&'static str> {
        match self {
            Self::Creating | Self::Working | Self::Failed | Self::Merged => None,
            Self::Review => Some("in review"),
            Self::Waiting => Some("waits for the checkout"),
            Self::CheckFailed => Some("check failed"),
            Self::Queued | Self::Merging | Self::Conflict | Self::Finished => Some(self.as_str()),
        }
    }

    /// Returns whether merging has stopped until someone does something about it.
    pub const fn is_stuck(self) -> bool {
        matches!(self, Self::Waiting | Self::Conflict | Self::CheckFailed)
    }

    /// Returns whether the branch is finished and waiting to be merged.
    pub const fn is_in_queue(self) -> bool {
        matches!(self, Self::Queued | Self::Merging | Self::Waiting)
    }
}

impl TaskWorktree {
    /// Returns the record of a worktree that is about to be created.
    pub fn new(branch: String, base: String, path: String) -> Self {
        Self {
            branch,
            base,
            path,
            state: WorktreeState::Creating,
            from: None,
            merges: false,
            tip: None,
            queued: None,
            candidates: Vec::new(),
            merged: None,
            reason: None,
            conflicts: Vec::new(),
            conflicts_with: Vec::new(),
            changes: None,
            is_continued: false,
            approved: false,
            extra: Map::new(),
        }
    }

    /// Returns the record with another state. The reason and the conflicts of the previous state are cleared.
    #[must_use]
    pub fn in_state(&self, state: WorktreeState) -> Self {
        Self { state, reason: None, conflicts: Vec::new(), conflicts_with: Vec::new(), ..self.clone() }
    }

    /// Returns the record as queued with `tip` as its last commit. If the tip has changed, the candidates are cleared,
    /// because they were made from other work, and the queue time is set to `now`.
    #[must_use]
    pub fn queued_with(&self, tip: &str, now: Timestamp) -> Self {
        let is_same = self.tip.as_deref() == Some(tip);
        let candidates = if is_same { self.candidates.clone() } else { Vec::new() };
        let queued = self.queued.clone().filter(|_| is_same).unwrap_or_else(|| now.to_string());
        Self { tip: Some(tip.to_owned()), queued: Some(queued), candidates, ..self.in_state(WorktreeState::Queued) }
    }

    /// Returns the record with one more commit that may become the merge. Only the newest candidates are kept.
    #[must_use]
    pub fn with_candidate(&self, commit: &str) -> Self {
        let mut with = self.clone();
        if !with.candidates.iter().any(|other| other == commit) {
            with.candidates.push(commit.to_owned());
            let surplus = with.candidates.len().saturating_sub(CANDIDATES);
            with.candidates.drain(..surplus);
        }
        with
    }

    /// Returns the metadata change that stores the record.
    pub fn as_patch(&self) -> Metadata {
        let value = serde_json::to_value(self).expect("text, lists and maps with text for keys can be written as JSON");
        Metadata::from_iter([(WORKTREE.to_owned(), value)])
    }
}

/// Returns the worktree record of a task, or `None` if it has none or an unreadable one.
pub fn worktree_of(task: &Task) -> Option<TaskWorktree> {
    TaskWorktree::deserialize(task.meta(WORKTREE)?).ok()
}

/// Returns the branch that must be merged before the task may be completed, or `None` if there is none.
pub fn awaits_merge(task: &Task) -> Option<String> {
    task.meta(WORKTREE)?;
    worktree_of(task).filter(|tree| tree.merges && tree.state != WorktreeState::Merged).map(|tree| tree.branch)
}

/// Returns whether a task is open and waits for a review by a person, so that only reviewers may take it.
pub(crate) fn awaits_review(task: &Task) -> bool {
    let state = task.meta(WORKTREE).and_then(|tree| tree.get("state"));
    task.status.is_open() && state.and_then(Value::as_str) == Some(WorktreeState::Review.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TaskWorktree, WorktreeState, awaits_merge, awaits_review, worktree_of};
    use crate::{Status, Task, TaskId, Timestamp};

    fn tree() -> TaskWorktree {
        TaskWorktree::new("taskyard/7-x".into(), "main".into(), "/w/7-x".into())
    }

    fn task(tree: &TaskWorktree) -> Task {
        Task { metadata: Some(tree.as_patch()), ..Task::new(TaskId::number(7), "x") }
    }

    #[test]
    fn worktree_is_read_as_written_with_unknown_keys_kept() {
        let mut tree = TaskWorktree { merges: true, conflicts_with: vec!["5".into()], ..tree() };
        tree.extra.insert("novelty".into(), json!([1]));
        assert_eq!(worktree_of(&task(&tree)), Some(tree));
        for nonsense in [json!("x"), json!({}), json!({ "branch": 1 }), json!(null)] {
            let metadata = json!({ "worktree": nonsense }).as_object().cloned();
            assert_eq!(worktree_of(&Task { metadata, ..Task::new(TaskId::number(7), "x") }), None);
        }
    }

    #[test]
    fn only_a_merged_worktree_lets_its_task_be_completed() {
        let tree = TaskWorktree { merges: true, ..tree() };
        assert_eq!(awaits_merge(&task(&tree.in_state(WorktreeState::Queued))), Some("taskyard/7-x".into()));
        assert_eq!(awaits_merge(&task(&tree.in_state(WorktreeState::Merged))), None);
        assert_eq!(awaits_merge(&task(&TaskWorktree { merges: false, ..tree })), None);
        assert_eq!(awaits_merge(&Task::new(TaskId::number(7), "x")), None);
    }

    #[test]
    fn only_open_tasks_wait_for_a_review() {
        let review = task(&tree().in_state(WorktreeState::Review));
        assert!(awaits_review(&review));
        assert!(!awaits_review(&Task { status: Status::Completed, ..review }));
        assert!(!awaits_review(&task(&tree())));
    }

    #[test]
    fn candidates_belong_to_one_last_commit() {
        let now = Timestamp(0);
        let queued = tree().queued_with("a", now).with_candidate("m").with_candidate("m");
        assert_eq!(queued.candidates, ["m"]);
        assert_eq!(queued.in_state(WorktreeState::Conflict).queued_with("a", now).candidates, ["m"]);
        assert!(queued.queued_with("b", now).candidates.is_empty());
    }
}
