//! What the next attempt at a task is told about the earlier ones.

use super::record::{TaskWorktree, WorktreeState, worktree_of};
use crate::Task;
use crate::task::{notes_of, read_note};

/// Maximum number of notes included; the newest are kept.
const NOTES: usize = 10;

/// Returns what earlier attempts left for the next one: why the last branch was not merged, and the notes on the task.
/// Returns `None` if there is nothing to report.
pub fn briefing(task: &Task) -> Option<String> {
    let mut lines = Vec::new();
    if let Some(tree) = worktree_of(task) {
        lines.extend(told(&tree));
    }
    let notes = notes_of(task);
    let newest = &notes[notes.len().saturating_sub(NOTES)..];
    if !newest.is_empty() {
        lines.push("Notes on the task:".to_owned());
        for note in newest {
            let note = read_note(note);
            let author = note.author.map(|author| format!("{author}: ")).unwrap_or_default();
            lines.push(format!("- {author}{}", note.text.trim().replace('\n', "\n  ")));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn told(tree: &TaskWorktree) -> Option<String> {
    let reason = tree.reason.as_deref().unwrap_or_default();
    match tree.state {
        WorktreeState::Conflict => Some(format!(
            "An earlier branch, {}, was not merged: {reason}. The base, {}, has changed since; build on what it has now.",
            tree.branch, tree.base
        )),
        WorktreeState::CheckFailed | WorktreeState::Failed if !reason.is_empty() => {
            Some(format!("An earlier attempt, on the branch {}, failed: {reason}", tree.branch))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::briefing;
    use crate::rules::worktrees::record::{TaskWorktree, WorktreeState};
    use crate::{Task, TaskId};

    #[test]
    fn next_attempt_is_told_the_reason_and_the_newest_notes() {
        let tree = TaskWorktree::new("taskyard/7-x".into(), "main".into(), "/w".into());
        let reason = Some("conflicts with main in a.rs, which #5 changed".to_owned());
        let tree = TaskWorktree { reason, ..tree.in_state(WorktreeState::Conflict) };
        let mut metadata = tree.as_patch();
        metadata.insert("notes".into(), json!([{ "author": "ana", "text": "src/a.rs:12: rename\nthis" }, "plain"]));
        let task = Task { metadata: Some(metadata), ..Task::new(TaskId::number(7), "x") };
        let told = briefing(&task).unwrap();
        assert!(told.starts_with("An earlier branch, taskyard/7-x, was not merged: conflicts with main in a.rs"));
        assert!(told.ends_with("Notes on the task:\n- ana: src/a.rs:12: rename\n  this\n- plain"), "{told}");
        assert_eq!(briefing(&Task::new(TaskId::number(7), "x")), None);
    }
}
