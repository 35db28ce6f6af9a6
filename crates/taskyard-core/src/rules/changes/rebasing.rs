//! Applying a change to contents that another program changed meanwhile.

use serde_json::{Map, Value};

use super::notes::{NOTES, merge_notes, notes_of};
use crate::{Op, Status, Task, TaskId};

/// Does to `now` what the change from `before` to `after` did: fields it changed take the new value, edges, notes and metadata
/// keys it added or removed are added or removed, and everything else stays as it is.
pub(crate) fn rebase(before: &Task, after: &Task, now: &Task) -> Task {
    Task {
        id: now.id.clone(),
        stated_id: now.stated_id.clone(),
        subject: pick(&before.subject, &after.subject, &now.subject),
        description: pick(&before.description, &after.description, &now.description),
        active_form: pick(&before.active_form, &after.active_form, &now.active_form),
        owner: pick(&before.owner, &after.owner, &now.owner),
        status: pick(&before.status, &after.status, &now.status),
        blocks: edges(&before.blocks, &after.blocks, &now.blocks),
        blocked_by: edges(&before.blocked_by, &after.blocked_by, &now.blocked_by),
        metadata: metadata(before, after, now),
        extra: keys(&before.extra, &after.extra, &now.extra),
    }
}

/// Does the same for what was done by `op`.
///
/// A change that takes a task or gives it back decides its owner. An agent that took it or completed it meanwhile was told so, and keeps
/// it: then only the rest of the change is made.
pub fn rebase_by(op: Op, before: &Task, after: &Task, now: &Task) -> Task {
    let rebased = rebase(before, after, now);
    let is_about_having_it = matches!(op, Op::Claim | Op::Release | Op::Expire);
    let is_decided = now.owner() != before.owner() || now.status == Status::Completed;
    if is_about_having_it && is_decided {
        return Task { owner: now.owner.clone(), status: now.status, ..rebased };
    }
    rebased
}

fn pick<T: Clone + PartialEq>(before: &T, after: &T, now: &T) -> T {
    if before == after { now.clone() } else { after.clone() }
}

fn edges(before: &[TaskId], after: &[TaskId], now: &[TaskId]) -> Vec<TaskId> {
    let is_removed = |id: &&TaskId| before.contains(id) && !after.contains(id);
    let is_added = |id: &&TaskId| !before.contains(id) && !now.contains(id);
    now.iter().filter(|id| !is_removed(id)).chain(after.iter().filter(is_added)).cloned().collect()
}

fn metadata(before: &Task, after: &Task, now: &Task) -> Option<Map<String, Value>> {
    if before.metadata == after.metadata {
        return now.metadata.clone();
    }
    let empty = Map::new();
    let of = |task: &Task| task.metadata.clone().unwrap_or_else(|| empty.clone());
    let mut merged = keys(&of(before), &of(after), &of(now));
    if before.meta(NOTES) != after.meta(NOTES) {
        match merge_notes(notes_of(before), notes_of(after), notes_of(now)) {
            Some(notes) => drop(merged.insert(NOTES.to_owned(), notes)),
            None => drop(merged.shift_remove(NOTES)),
        }
    }
    (after.metadata.is_some() || !merged.is_empty()).then_some(merged)
}

fn keys(before: &Map<String, Value>, after: &Map<String, Value>, now: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = now.clone();
    merged.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
    for (key, value) in after.iter().filter(|(key, value)| before.get(*key) != Some(*value)) {
        merged.insert(key.clone(), value.clone());
    }
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{rebase, rebase_by};
    use crate::{Op, Status, Task, TaskId};

    #[test]
    fn what_we_changed_and_what_they_changed_both_hold() {
        let before = Task::new(TaskId::number(1), "old");
        let mut after = before.clone();
        after.status = Status::Completed;
        after.blocks.push(TaskId::number(2));
        after.metadata = json!({"a": 1}).as_object().cloned();
        let mut now = before.clone();
        now.subject = "theirs".into();
        now.blocks.push(TaskId::number(3));
        now.metadata = json!({"b": 2}).as_object().cloned();
        let merged = rebase(&before, &after, &now);
        assert_eq!((merged.subject.as_str(), merged.status), ("theirs", Status::Completed));
        assert_eq!(merged.blocks, [TaskId::number(3), TaskId::number(2)]);
        assert_eq!(serde_json::Value::from(merged.metadata.unwrap()), json!({"b": 2, "a": 1}));
    }

    #[test]
    fn an_agent_that_took_a_task_meanwhile_keeps_it() {
        let before = Task::new(TaskId::number(1), "s");
        let ours = Task { owner: Some("ana".into()), status: Status::InProgress, ..before.clone() };
        let theirs = Task { owner: Some("ben".into()), subject: "theirs".into(), ..before.clone() };
        assert_eq!(rebase_by(Op::Claim, &before, &ours, &theirs), theirs);
        assert_eq!(rebase_by(Op::Expire, &ours, &before, &theirs), theirs);
        assert_eq!(rebase_by(Op::Update, &before, &ours, &theirs).owner(), Some("ana"));
        let done = Task { status: Status::Completed, ..before.clone() };
        assert_eq!(rebase_by(Op::Claim, &before, &ours, &done), done);
        let reworded = Task { subject: "theirs".into(), ..before.clone() };
        let claimed = rebase_by(Op::Claim, &before, &ours, &reworded);
        assert_eq!((claimed.owner(), claimed.subject.as_str()), (Some("ana"), "theirs"));
    }

    #[test]
    fn notes_of_both_sides_hold() {
        let noted = |notes: serde_json::Value| Task {
            metadata: json!({ "notes": notes }).as_object().cloned(),
            ..Task::new(TaskId::number(1), "s")
        };
        let (before, after, now) = (noted(json!(["a"])), noted(json!(["a", "ours"])), noted(json!(["a", "theirs"])));
        assert_eq!(rebase(&before, &after, &now).meta("notes"), Some(&json!(["a", "theirs", "ours"])));
        assert_eq!(rebase(&after, &before, &after).meta("notes"), Some(&json!(["a"])));
    }

    #[test]
    fn what_we_took_away_stays_away() {
        let mut before = Task::new(TaskId::number(1), "s");
        before.blocked_by = vec![TaskId::number(5), TaskId::number(6)];
        before.metadata = json!({"a": 1, "b": 2}).as_object().cloned();
        let mut after = before.clone();
        after.blocked_by.remove(0);
        after.metadata = json!({"b": 2}).as_object().cloned();
        let mut now = before.clone();
        now.owner = Some("ana".into());
        let merged = rebase(&before, &after, &now);
        assert_eq!(merged.blocked_by, [TaskId::number(6)]);
        assert_eq!(serde_json::Value::from(merged.metadata.unwrap()), json!({"b": 2}));
        assert_eq!(merged.owner.as_deref(), Some("ana"));
    }
}
