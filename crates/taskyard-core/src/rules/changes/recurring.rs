//! The task that follows a recurring one when it is completed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::dialect::foreign::ImportFormat;
use crate::dialect::macf::with_marks;
use crate::rules::claims::claiming::ATTEMPTS;
use crate::rules::worktrees::record::WORKTREE;
use crate::task::NOTES;
use crate::timing::{Clock, Deadlines, Recurrence};
use crate::{DEFER, DUE, Metadata, Status, Task, TaskId, Timestamp};

/// The metadata key of the recurrence rule.
pub const EVERY: &str = "every";

/// The metadata key under which a completed task names its successor. A task gets only one successor, however often it
/// is reopened.
pub const FOLLOWED_BY: &str = "followedBy";

/// Metadata keys that are not copied to the successor.
const OWN: [&str; 6] = [NOTES, ATTEMPTS, FOLLOWED_BY, WORKTREE, "cancelled", "imported"];

/// Returns whether a metadata key belongs to one run of a task, so that a task made after it does not get it.
pub(crate) fn is_of_one_run(key: &str) -> bool {
    OWN.contains(&key) || key.parse::<ImportFormat>().is_ok()
}

/// Returns the recurrence rule of a completed task that has no successor yet. A cancelled task does not recur.
pub fn due_again(task: &Task) -> Option<Recurrence> {
    // Most tasks do not recur.
    let rule = task.meta(EVERY)?.as_str()?;
    let is_last = task.is_cancelled() || task.meta(FOLLOWED_BY).is_some_and(|id| !id.is_null());
    if task.status != Status::Completed || is_last || task.is_internal() {
        return None;
    }
    rule.parse().ok()
}

/// Returns the ids of the tasks that recur together with a task: the task itself and its direct and indirect parts,
/// each after its parent. Parts with their own recurrence rule are left out.
pub fn coming_again(task: &TaskId, tasks: &[Task]) -> Vec<TaskId> {
    let mut parts: HashMap<TaskId, Vec<&Task>> = HashMap::new();
    for part in tasks.iter().filter(|part| part.meta(EVERY).is_none() && !part.is_internal()) {
        if let Some(parent) = part.parent() {
            parts.entry(parent).or_default().push(part);
        }
    }
    let mut found = vec![task.clone()];
    let mut seen: HashSet<TaskId> = found.iter().cloned().collect();
    let mut at = 0;
    while at < found.len() {
        let below = parts.get(&found[at]).into_iter().flatten();
        let new: Vec<TaskId> = below.map(|part| part.id.clone()).filter(|id| seen.insert(id.clone())).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Returns the successors of a completed task and its parts, with `new_ids` in the same order. Their dates are moved by
/// the same distance; they are pending, have no owner, and depend on each other as the originals do. Returns `None` if
/// the next date is out of range.
pub fn following(coming: &[Task], new_ids: &[TaskId], rule: &Recurrence, clock: &Clock) -> Option<Vec<Task>> {
    let first = coming.first()?;
    let next = rule.next(Deadlines { due: first.due(), defer: first.defer() }, clock)?;
    let ids: HashMap<&TaskId, &TaskId> = coming.iter().map(|task| &task.id).zip(new_ids).collect();
    let translated = |on: &[TaskId]| on.iter().filter_map(|id| ids.get(id)).map(|id| (*id).clone()).collect();
    // Parts keep their distance in time from the task.
    let distance = match (first.due().or(first.defer()), next.due.or(next.defer)) {
        (Some(before), Some(after)) => after.0 - before.0,
        _ => 0,
    };
    let moved = |moment: Timestamp| Timestamp(moment.0.saturating_add(distance));
    let follow = |(place, (task, id)): (usize, (&Task, &TaskId))| {
        let times = match place {
            0 => next,
            _ => Deadlines { due: task.due().map(moved), defer: task.defer().map(moved) },
        };
        let mut metadata: Metadata = task.metadata.clone().unwrap_or_default();
        metadata.retain(|key, _| !is_of_one_run(key));
        for (key, moment) in [(DUE, times.due), (DEFER, times.defer)] {
            match moment {
                Some(moment) => drop(metadata.insert(key.to_owned(), moment.to_string().into())),
                None => drop(metadata.shift_remove(key)),
            }
        }
        if let Some(parent) = task.parent().and_then(|parent| ids.get(&parent).copied()) {
            metadata.insert("parent".to_owned(), parent.as_str().into());
        }
        let following = Task {
            description: task.description.clone(),
            active_form: task.active_form.clone(),
            blocks: translated(&task.blocks),
            blocked_by: translated(&task.blocked_by),
            metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
            ..Task::new(id.clone(), task.subject.as_str())
        };
        // The marks before the title contain task numbers.
        let subject = with_marks(task, &following, None);
        Task { subject: subject.unwrap_or(following.subject.clone()), ..following }
    };
    Some(coming.iter().zip(new_ids).enumerate().map(follow).collect())
}

/// Returns the completed task with its successor recorded.
#[must_use]
pub fn followed(task: &Task, by: &TaskId) -> Task {
    let mut task = task.clone();
    task.metadata.get_or_insert_default().insert(FOLLOWED_BY.to_owned(), Value::from(by.as_str()));
    task
}

/// Adds the first due date to the metadata of a new task that has a recurrence rule but no due or defer date.
pub fn add_first_due(metadata: &mut Metadata, clock: &Clock) {
    let has = |key: &str| metadata.get(key).is_some_and(|value| !value.is_null());
    let rule = metadata.get(EVERY).and_then(Value::as_str).and_then(|rule| rule.parse::<Recurrence>().ok());
    let Some(rule) = rule.filter(|_| !has(DUE) && !has(DEFER)) else { return };
    if let Some(due) = rule.first_due(clock) {
        metadata.insert(DUE.to_owned(), due.to_string().into());
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use super::{add_first_due, coming_again, due_again, followed, following};
    use crate::timing::Clock;
    use crate::{Status, Task, TaskId, Timestamp};

    fn task(id: u64, metadata: Value) -> Task {
        Task {
            metadata: metadata.as_object().cloned(),
            status: Status::Completed,
            ..Task::new(TaskId::number(id), format!("task {id}"))
        }
    }

    fn clock() -> Clock {
        Clock::new(Timestamp::parse("2026-11-20T12:00:00Z").unwrap(), TimeZone::UTC)
    }

    #[test]
    fn only_a_completed_task_with_a_rule_is_followed_and_once() {
        let done = task(1, json!({"every": "mon"}));
        assert!(due_again(&done).is_some());
        assert!(due_again(&Task { status: Status::InProgress, ..done.clone() }).is_none());
        assert!(due_again(&followed(&done, &TaskId::number(2))).is_none());
        for metadata in
            [json!({}), json!({"every": "mon", "cancelled": true}), json!({"every": 7}), json!({"every": "soon"})]
        {
            assert!(due_again(&task(1, metadata)).is_none());
        }
    }

    #[test]
    fn next_one_has_its_times_moved_and_nothing_of_the_past() {
        let mut done = task(
            1,
            json!({"every": "mon", "due": "2026-11-16T17:00:00.000Z", "defer": "2026-11-13T08:00:00.000Z", "tags": ["ops"],
                "notes": [{"text": "x"}], "attempts": 2, "worktree": {"path": "/w"}, "imported": {"from": "beads"}, "beads": {"priority": 1}}),
        );
        done.owner = Some("ana".into());
        done.blocked_by = vec![TaskId::number(9)];
        let rule = due_again(&done).unwrap();
        let next = following(&[done], &[TaskId::number(7)], &rule, &clock()).unwrap().remove(0);
        assert_eq!(
            (next.id, next.status, next.owner, next.blocked_by),
            (TaskId::number(7), Status::Pending, None, Vec::new())
        );
        let expected = json!({"every": "mon", "due": "2026-11-23T17:00:00.000Z", "defer": "2026-11-20T08:00:00.000Z", "tags": ["ops"]});
        assert_eq!(json!(next.metadata), expected);
    }

    #[test]
    fn parts_come_again_with_their_order_and_distance() {
        let whole = task(1, json!({"every": "1w", "due": "2026-11-20T17:00:00.000Z"}));
        let mut first = task(2, json!({"parent": "1", "due": "2026-11-19T17:00:00.000Z"}));
        let mut second = task(3, json!({"parent": "1"}));
        first.blocks = vec![second.id.clone()];
        second.blocked_by = vec![first.id.clone(), TaskId::number(8)];
        let alone = task(4, json!({"parent": "1", "every": "mon"}));
        let below = task(5, json!({"parent": "3"}));
        let tasks = vec![whole.clone(), first, second, alone, below];
        let ids = coming_again(&whole.id, &tasks);
        assert_eq!(ids, [1, 2, 3, 5].map(TaskId::number));
        let coming: Vec<Task> =
            ids.iter().map(|id| tasks.iter().find(|task| task.id == *id).unwrap().clone()).collect();
        let new_ids = [11, 12, 13, 14].map(TaskId::number);
        let next = following(&coming, &new_ids, &due_again(&whole).unwrap(), &clock()).unwrap();
        assert_eq!(json!(next[1].metadata), json!({"parent": "11", "due": "2026-11-26T17:00:00.000Z"}));
        assert_eq!((&next[1].blocks, &next[2].blocked_by), (&vec![TaskId::number(13)], &vec![TaskId::number(12)]));
        assert_eq!(next[3].parent(), Some(TaskId::number(13)));
    }

    #[test]
    fn rule_without_a_time_gives_the_first_due_date() {
        let mut metadata = json!({"every": "mon"}).as_object().unwrap().clone();
        add_first_due(&mut metadata, &clock());
        assert_eq!(metadata["due"], "2026-11-23T23:59:59.999Z");
        let mut deferred = json!({"every": "mon", "defer": "2026-11-21T00:00:00.000Z"}).as_object().unwrap().clone();
        add_first_due(&mut deferred, &clock());
        assert!(!deferred.contains_key("due"));
    }
}
