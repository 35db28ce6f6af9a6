//! A task as the things in it that can change by themselves.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::rules::changes::notes::{NOTES, give_notes, keyed, notes_of};
use crate::{Status, Task, TaskField, TaskId};

/// What stands in a task, thing by thing; what is not there is absent.
pub(crate) type Fields = HashMap<TaskField, Value>;

/// Returns what stands in a task. Keys that the client does not know are left out: it drops them whenever it writes.
pub(crate) fn fields(task: &Task) -> Fields {
    let mut fields = Fields::new();
    fields.insert(TaskField::Subject, task.subject.as_str().into());
    fields.insert(TaskField::Description, task.description.as_str().into());
    fields.insert(TaskField::Status, task.status.as_str().into());
    fields.extend(task.active_form.as_deref().map(|text| (TaskField::ActiveForm, text.into())));
    fields.extend(task.owner().map(|owner| (TaskField::Owner, owner.into())));
    fields.extend(task.blocks.iter().map(|id| (TaskField::Blocks(id.clone()), true.into())));
    fields.extend(task.blocked_by.iter().map(|id| (TaskField::BlockedBy(id.clone()), true.into())));
    fields.extend(keyed(notes_of(task)).into_iter().map(|(key, note)| (TaskField::Note(key), note.clone())));
    let metadata = task.metadata.iter().flatten().filter(|(key, _)| *key != NOTES);
    fields.extend(metadata.map(|(key, value)| (TaskField::Metadata(key.clone()), value.clone())));
    fields
}

/// Returns the fields that two states of a task do not share, in order.
pub(super) fn differing(one: &Fields, other: &Fields) -> Vec<TaskField> {
    let lost = one.iter().filter(|(field, value)| other.get(field) != Some(value)).map(|(field, _)| field);
    let gained = other.keys().filter(|field| !one.contains_key(field));
    let mut differing: Vec<TaskField> = lost.chain(gained).cloned().collect();
    differing.sort_unstable();
    differing
}

/// Gives fields of a task the values they have in another state of it; absent there, they go.
pub(super) fn give<'a>(task: &mut Task, given: impl Iterator<Item = &'a TaskField>, from: &Task) {
    let values = fields(from);
    let (mut notes_given, mut notes_taken) = (HashSet::new(), HashSet::new());
    let mut blocks = EdgeChange::default();
    let mut blocked_by = EdgeChange::default();
    for field in given {
        let value = values.get(field);
        let text = || value.and_then(Value::as_str).map(str::to_owned);
        match field {
            TaskField::Subject => task.subject = text().unwrap_or_default(),
            TaskField::Description => task.description = text().unwrap_or_default(),
            TaskField::ActiveForm => task.active_form = text(),
            TaskField::Owner => task.owner = text(),
            TaskField::Status => task.status = text().and_then(|word| word.parse().ok()).unwrap_or(Status::Pending),
            TaskField::Blocks(id) => blocks.note(id, value.is_some()),
            TaskField::BlockedBy(id) => blocked_by.note(id, value.is_some()),
            TaskField::Metadata(key) => match value {
                Some(value) => drop(task.metadata.get_or_insert_default().insert(key.clone(), value.clone())),
                None => drop(task.metadata.as_mut().and_then(|metadata| metadata.shift_remove(key))),
            },
            TaskField::Note(key) => {
                let notes = if value.is_some() { &mut notes_given } else { &mut notes_taken };
                notes.insert(key.clone());
            }
            TaskField::Deletion => {}
        }
    }
    blocks.make(&mut task.blocks);
    blocked_by.make(&mut task.blocked_by);
    if !notes_given.is_empty() || !notes_taken.is_empty() {
        give_notes(task, &notes_given, &notes_taken, notes_of(from));
    }
}

/// Edges that come and go together: a task may have thousands of them.
#[derive(Default)]
struct EdgeChange {
    added: Vec<TaskId>,
    removed: HashSet<TaskId>,
}

impl EdgeChange {
    fn note(&mut self, id: &TaskId, is_there: bool) {
        if is_there {
            self.added.push(id.clone());
        } else {
            self.removed.insert(id.clone());
        }
    }

    fn make(self, edges: &mut Vec<TaskId>) {
        if !self.removed.is_empty() {
            edges.retain(|id| !self.removed.contains(id));
        }
        if !self.added.is_empty() {
            let there: HashSet<TaskId> = edges.iter().cloned().collect();
            edges.extend(self.added.into_iter().filter(|id| !there.contains(id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{differing, fields, give};
    use crate::{Status, Task, TaskField, TaskId};

    #[test]
    fn giving_every_differing_field_makes_one_task_of_the_other() {
        let one = Task::new(TaskId::number(1), "old");
        let other = Task {
            subject: "new".into(),
            description: "text".into(),
            active_form: Some("doing".into()),
            owner: Some("ana".into()),
            status: Status::Completed,
            blocks: vec![TaskId::number(2), TaskId::number(3)],
            blocked_by: vec![TaskId::number(4)],
            metadata: json!({"a": {"b": [1]}, "c": null, "notes": ["one", {"text": "two"}]}).as_object().cloned(),
            ..one.clone()
        };
        let changed = differing(&fields(&one), &fields(&other));
        assert_eq!(changed.len(), 12);
        let (mut there, mut back) = (one.clone(), other.clone());
        give(&mut there, changed.iter(), &other);
        assert_eq!(there, other);
        give(&mut back, changed.iter(), &one);
        assert_eq!(Task { metadata: None, ..back }, one);
    }

    #[test]
    fn an_empty_owner_is_nobody() {
        let one = Task::new(TaskId::number(1), "x");
        let other = Task { owner: Some(String::new()), ..one.clone() };
        assert_eq!(differing(&fields(&one), &fields(&other)), [] as [TaskField; 0]);
    }
}
