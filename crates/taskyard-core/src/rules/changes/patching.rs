//! What a change of fields does to a task, and which fields it changed.

use std::fmt;

use serde_json::Value;

use crate::{Metadata, Status, Task, TaskId};

/// A field of a task, as answers name it. The order of the variants is the order in which the client reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The title.
    Subject,
    /// What there is to do.
    Description,
    /// What is being done, while it is being done.
    ActiveForm,
    /// Its owner.
    Owner,
    /// What else is kept with it.
    Metadata,
    /// Where in its life it is.
    Status,
    /// The tasks that wait for it.
    Blocks,
    /// The tasks it waits for.
    BlockedBy,
}

impl Field {
    /// Every field, in the order the client reports them.
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

    /// Returns the key of the field in task files and in answers.
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

/// What becomes of a task's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerChange {
    /// This one has it now. The client can store an empty name.
    Set(String),
    /// It has no owner any more; the key goes from the file.
    Clear,
}

/// The fields to change; what is none stays as it is.
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
    /// The new owner, or none.
    pub owner: Option<OwnerChange>,
    /// Metadata to merge into what is there, key by key; null takes a key away.
    pub metadata: Option<Metadata>,
}

/// What a patch made of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The task with the patch in it.
    pub task: Task,
    /// The fields the patch changed, in the order the client reports them.
    pub updated: Vec<Field>,
    /// The status before and after, where it changed.
    pub status_change: Option<(Status, Status)>,
}

/// Puts a patch into a task.
///
/// A field counts as changed where it is another than before; metadata counts as changed whenever it is given, as the
/// client reports it.
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

/// Tells whether any of these ids is not there yet, which is when the client reports an edge field as updated, whether
/// or not there is such a task.
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
