//! Applies field changes to a task, and rebases a change onto contents that were changed in the meantime.

use std::fmt;

use serde_json::{Map, Value, json};

use super::notes::{NOTES, merge_notes, notes_of};
use crate::{Metadata, Op, Status, Task, TaskId};

/// A field of a task, as named in output. The variants are in the order in which the client reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The title.
    Subject,
    /// The description of the work.
    Description,
    /// The text shown while the task is in progress.
    ActiveForm,
    /// The owner.
    Owner,
    /// The metadata.
    Metadata,
    /// The status.
    Status,
    /// The tasks that wait for it.
    Blocks,
    /// The blockers.
    BlockedBy,
}

impl Field {
    /// All fields, in the order in which the client reports them.
    pub const ALL: [Self; 8] = [
        Self::Subject,
        Self::Description,
        Self::ActiveForm,
        Self::Owner,
        Self::Metadata,
        Self::Status,
        Self::Blocks,
        Self::BlockedBy,
    ];

    /// Returns the key of the field in task files and in output.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Description => "description",
            Self::ActiveForm => "activeForm",
            Self::Owner => "owner",
            Self::Metadata => "metadata",
            Self::Status => "status",
            Self::Blocks => "blocks",
            Self::BlockedBy => "blockedBy",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A change of a task's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerChange {
    /// Sets the owner. The client can store an empty name.
    Set(String),
    /// Removes the owner; the key is removed from the file.
    Clear,
}

/// The fields to change. A field that is `None` is left unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// The new title.
    pub subject: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new active form.
    pub active_form: Option<String>,
    /// The new status.
    pub status: Option<Status>,
    /// The change of the owner.
    pub owner: Option<OwnerChange>,
    /// Metadata to merge into the existing metadata, key by key. Null removes a key.
    pub metadata: Option<Metadata>,
}

/// The result of applying a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The patched task.
    pub task: Task,
    /// The changed fields, in the order in which the client reports them.
    pub updated: Vec<Field>,
    /// The status before and after, if it changed.
    pub status_change: Option<(Status, Status)>,
}

/// Applies a patch to a task.
///
/// A field counts as changed if its value differs from before. Metadata counts as changed whenever the patch has any,
/// as in the client's reports.
pub fn apply(patch: &Patch, task: &Task) -> Patched {
    let mut after = task.clone();
    let mut updated = Vec::new();
    if replace(&mut after.subject, patch.subject.as_ref()) {
        updated.push(Field::Subject);
    }
    if replace(&mut after.description, patch.description.as_ref()) {
        updated.push(Field::Description);
    }
    if replace(&mut after.active_form, patch.active_form.clone().map(Some).as_ref()) {
        updated.push(Field::ActiveForm);
    }
    let owner = patch.owner.as_ref().map(|change| match change {
        OwnerChange::Set(name) => Some(name.clone()),
        OwnerChange::Clear => None,
    });
    if replace(&mut after.owner, owner.as_ref()) {
        updated.push(Field::Owner);
    }
    if let Some(changes) = &patch.metadata {
        after.metadata = Some(merged(task.metadata.as_ref(), changes));
        updated.push(Field::Metadata);
    }
    if replace(&mut after.status, patch.status.as_ref()) {
        updated.push(Field::Status);
    }
    let status_change = (task.status != after.status).then_some((task.status, after.status));
    Patched { task: after, updated, status_change }
}

/// Returns whether any of these ids is not in `present`. The client then reports an edge field as updated, whether or
/// not the task exists.
pub fn names_new(ids: &[TaskId], present: &[TaskId]) -> bool {
    ids.iter().any(|id| !present.contains(id))
}

fn replace<T: PartialEq + Clone>(value: &mut T, new: Option<&T>) -> bool {
    match new {
        Some(new) if new != value => {
            *value = new.clone();
            true
        }
        Some(_) | None => false,
    }
}

fn merged(before: Option<&Metadata>, changes: &Metadata) -> Metadata {
    let mut metadata = before.cloned().unwrap_or_default();
    for (key, value) in changes {
        match value {
            Value::Null => drop(metadata.shift_remove(key)),
            value => drop(metadata.insert(key.clone(), value.clone())),
        }
    }
    metadata
}

/// Applies the change from `before` to `after` to `now`. Fields that it changed get the new value; edges, notes and
/// metadata keys that it added or removed are added or removed; everything else stays unchanged.
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

/// Applies the change that `op` made from `before` to `after` to `now`, as a rebase does.
///
/// A claim, a release or an expiry also decides the owner. If the owner has changed in the meantime or the task has
/// been completed, the agent concerned was told so: the task then keeps its present owner and status, and only the rest
/// of the change is applied.
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

/// A change of a task's tags, applied in the order `set`, `add`, `remove`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    /// The tags that replace the existing ones.
    pub set: Option<Vec<String>>,
    /// The tags to add.
    pub add: Vec<String>,
    /// The tags to remove.
    pub remove: Vec<String>,
}

impl TagChange {
    /// Returns the new value of `metadata.tags`: null if no tag is left, or `None` if the tags do not change.
    pub fn applied_to(&self, task: &Task) -> Option<Value> {
        let before: Vec<&str> = task.tags().collect();
        let given = self.set.as_ref().map(|tags| tags.iter().map(String::as_str).collect());
        let mut after: Vec<&str> = Vec::new();
        for tag in given.unwrap_or_else(|| before.clone()).into_iter().chain(self.add.iter().map(String::as_str)) {
            if !after.contains(&tag) {
                after.push(tag);
            }
        }
        after.retain(|tag| !self.remove.iter().any(|removed| removed == tag));
        let is_same = after == before;
        (!is_same).then(|| if after.is_empty() { Value::Null } else { json!(after) })
    }
}

/// Returns whether an operation that adds a missing task creates it. Restoring or undoing brings a task back instead.
/// If a number was used twice, the later task is meant.
pub fn makes(op: Op) -> bool {
    !matches!(op, Op::Undo | Op::Restore)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Field, OwnerChange, Patch, apply, names_new};
    use crate::{Metadata, Status, Task, TaskId};

    fn task() -> Task {
        let mut task = Task::new(TaskId::number(1), "A");
        task.metadata = object(json!({ "a": 1, "b": 2, "c": 3 }));
        task
    }

    fn object(value: Value) -> Option<Metadata> {
        value.as_object().cloned()
    }

    #[test]
    fn a_field_counts_as_changed_only_where_it_differs() {
        let patch = Patch { subject: Some("A".into()), description: Some("new".into()), ..Patch::default() };
        let patched = apply(&patch, &task());
        assert_eq!(patched.updated, [Field::Description]);
        assert_eq!(patched.task.description, "new");
        assert_eq!(patched.status_change, None);
    }

    #[test]
    fn every_field_is_reported_in_the_clients_order() {
        let patch = Patch {
            status: Some(Status::InProgress),
            metadata: Some(Metadata::new()),
            owner: Some(OwnerChange::Set("ana".into())),
            active_form: Some("Doing".into()),
            description: Some("d".into()),
            subject: Some("B".into()),
        };
        let patched = apply(&patch, &task());
        assert_eq!(patched.updated, Field::ALL[..6]);
        assert_eq!(patched.status_change, Some((Status::Pending, Status::InProgress)));
    }

    #[test]
    fn null_takes_a_key_away_and_the_others_keep_their_order() {
        let patch = Patch { metadata: object(json!({ "a": null, "d": [], "b": {"x": null} })), ..Patch::default() };
        let after = apply(&patch, &task()).task.metadata.unwrap();
        assert_eq!(serde_json::to_string(&after).unwrap(), r#"{"b":{"x":null},"c":3,"d":[]}"#);
    }

    #[test]
    fn taking_away_what_is_not_there_still_leaves_metadata() {
        let patch = Patch { metadata: object(json!({ "zz": null })), ..Patch::default() };
        let patched = apply(&patch, &Task::new(TaskId::number(3), "C"));
        assert_eq!(patched.task.metadata, Some(Metadata::new()));
        assert_eq!(patched.updated, [Field::Metadata]);
    }

    #[test]
    fn an_owner_can_be_set_emptied_and_cleared() {
        let set = |owner| Patch { owner: Some(owner), ..Patch::default() };
        let owned = apply(&set(OwnerChange::Set("bob".into())), &task());
        assert_eq!((owned.task.owner(), owned.updated.as_slice()), (Some("bob"), &[Field::Owner][..]));
        let emptied = apply(&set(OwnerChange::Set(String::new())), &owned.task);
        assert_eq!((emptied.task.owner.as_deref(), emptied.task.owner()), (Some(""), None));
        assert_eq!(apply(&set(OwnerChange::Clear), &emptied.task).updated, [Field::Owner]);
        assert_eq!(apply(&set(OwnerChange::Clear), &task()).updated, []);
    }

    #[test]
    fn an_edge_field_is_reported_where_an_id_is_new() {
        let present = [TaskId::number(1)];
        assert!(!names_new(&[TaskId::number(1)], &present));
        assert!(!names_new(&[], &present));
        assert!(names_new(&[TaskId::number(1), TaskId::number(77)], &present));
    }
}

#[cfg(test)]
mod rebasing_tests {
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

#[cfg(test)]
mod tagging_tests {
    use serde_json::{Value, json};

    use super::TagChange;
    use crate::{Task, TaskId};

    fn applied(tags: Value, set: Option<&[&str]>, add: &[&str], remove: &[&str]) -> Option<Value> {
        let metadata = json!({"tags": tags}).as_object().cloned();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let change = TagChange { set: set.map(words), add: words(add), remove: words(remove) };
        change.applied_to(&Task { metadata, ..Task::new(TaskId::number(1), "x") })
    }

    #[test]
    fn tags_are_added_taken_away_and_set() {
        assert_eq!(applied(json!(["a"]), None, &["b", "a"], &[]), Some(json!(["a", "b"])));
        assert_eq!(applied(json!(["a", "b"]), None, &[], &["a"]), Some(json!(["b"])));
        assert_eq!(applied(json!(["a"]), Some(&["c", "d"]), &["e"], &["d"]), Some(json!(["c", "e"])));
        assert_eq!(applied(json!(["a"]), None, &[], &["a"]), Some(Value::Null));
        assert_eq!(applied(json!(["a"]), Some(&[]), &[], &[]), Some(Value::Null));
    }

    #[test]
    fn tags_that_stay_as_they_are_are_no_change() {
        assert_eq!(applied(json!(["a"]), None, &["a"], &["z"]), None);
        assert_eq!(applied(json!([]), None, &[], &["a"]), None);
    }
}

#[cfg(test)]
mod making_tests {
    use super::makes;
    use crate::dialect::native;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    /// Returns a journal. Each entry states whether the task existed before and after it.
    fn journal(entries: &[(Op, bool, bool)]) -> Vec<Entry> {
        let image = native::write(None, &Task::new(TaskId::number(1), "task"), Rules::Strict).unwrap();
        let entry = |(number, (op, before, after)): (usize, &(Op, bool, bool))| Entry {
            revision: Revision(number as u64 + 1),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op: *op,
            task: TaskId::number(1),
            before: before.then(|| image.clone()),
            after: after.then(|| image.clone()),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        entries.iter().enumerate().map(entry).collect()
    }

    fn revision(entries: &[(Op, bool, bool)]) -> Option<u64> {
        let is_arrival = |entry: &&Entry| entry.before.is_none() && entry.after.is_some();
        let journal = journal(entries);
        journal.iter().filter(is_arrival).rfind(|entry| makes(entry.op)).map(|entry| entry.revision.0)
    }

    #[test]
    fn gaining_an_edge_beside_a_new_task_is_not_being_made() {
        assert_eq!(revision(&[(Op::Create, false, true), (Op::Create, true, true)]), Some(1));
        assert_eq!(revision(&[(Op::Create, true, true)]), None);
    }

    #[test]
    fn a_task_that_comes_back_was_made_when_it_first_came() {
        let gone_and_back = [(Op::Create, false, true), (Op::Delete, true, false), (Op::Restore, false, true)];
        assert_eq!(revision(&gone_and_back), Some(1));
        assert_eq!(revision(&[(Op::Import, false, true), (Op::Undo, true, false), (Op::Undo, false, true)]), Some(1));
        let twice =
            [(Op::Create, false, true), (Op::RemovedElsewhere, true, false), (Op::CreatedElsewhere, false, true)];
        assert_eq!(revision(&twice), Some(3));
    }
}
