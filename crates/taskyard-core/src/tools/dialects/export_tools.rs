//! The tools `TaskCreate`, `TaskUpdate` and `TaskList` in the terms of an export.

use serde_json::{Value, json};

use crate::dialect::export;
use crate::rules::hooks::System;
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::tool::Fields;
use crate::tools::tool_answer::{LONGEST, elements_that_fit, folded, units, unreadable_line};
use crate::tools::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::{Metadata, Rules, Task, TaskId};

/// Creates a task.
pub(crate) const CREATE: Tool = Tool {
    name: "TaskCreate",
    description: "Add one task to the shared task list. dependencies are the ids of tasks that must be completed before it starts.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text),
            Field::optional("description", Shape::Text),
            Field::optional("dependencies", Shape::List(&Shape::Text)),
            Field::optional("assigned_to", Shape::Text).saying("The owner of the task"),
            Field::optional("metadata", Shape::Object(METADATA)),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[Field::required("task", Shape::AnyOf(&[Shape::Record, Shape::Null]))]),
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Export,
};

/// The known keys of a task's metadata.
const METADATA: Object = Object { fields: &[Field::optional("subagent_id", Shape::Text)], unknown: Unknown::Kept };

/// Changes the status of a task.
pub(crate) const UPDATE: Tool = Tool {
    name: "TaskUpdate",
    description: "Change the status of a task, and note why. Set it in_progress before you work on it and completed as soon as it \
        is entirely done; cancelled when it will not be done.",
    input: Object {
        fields: &[
            Field::required("id", Shape::Text),
            Field::required("status", Shape::Choice(&["pending", "in_progress", "completed", "blocked", "cancelled"])),
            Field::optional("notes", Shape::Text),
            Field::optional("assigned_to", Shape::Text).saying("The owner; you, if the task has none and you start it"),
            Field::optional("metadata", Shape::Object(METADATA)).saying("Keys to merge; null removes one"),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[Field::required("task", Shape::AnyOf(&[Shape::Record, Shape::Null]))]),
    annotations: Annotations::REPLACES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Export,
};

/// Lists the tasks.
pub(crate) const LIST: Tool = Tool {
    name: "TaskList",
    description: "Return all tasks of the shared task list as a JSON array.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    output: Object::answer(&[Field::required("tasks", Shape::List(&Shape::Record))]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Export,
};

/// A task to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The title.
    pub subject: String,
    /// The description.
    pub description: String,
    /// The blockers.
    pub dependencies: Vec<TaskId>,
    /// The owner, if given.
    pub owner: Option<String>,
    /// Additional data.
    pub metadata: Metadata,
}

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub id: TaskId,
    /// The new status, in the terms of an export.
    pub status: String,
    /// A note to add.
    pub notes: Option<String>,
    /// The owner, if given; an empty name removes it.
    pub owner: Option<String>,
    /// The metadata keys to set.
    pub metadata: Metadata,
}

/// Parses the input of `TaskCreate`.
pub fn read_create(input: &Value, rules: Rules) -> Result<Create, InputError> {
    let mut fields = CREATE.check(input, None, rules)?;
    let (owner, metadata) = owner_and_rest(&mut fields, &CREATE, rules)?;
    Ok(Create {
        owner: owner.filter(|name| !name.is_empty()),
        metadata,
        subject: fields.required_text("subject"),
        description: fields.text("description").unwrap_or_default(),
        dependencies: fields.list("dependencies").iter().filter_map(Value::as_str).map(TaskId::stored).collect(),
    })
}

/// Parses the input of `TaskUpdate`.
pub fn read_update(input: &Value, rules: Rules) -> Result<Move, InputError> {
    let mut input = input.clone();
    // No owner, in either of its names.
    for place in ["/assigned_to", "/metadata/subagent_id"] {
        if let Some(owner) = input.pointer_mut(place).filter(|owner| owner.is_null()) {
            *owner = Value::String(String::new());
        }
    }
    let mut fields = UPDATE.check(&input, None, rules)?;
    let (owner, metadata) = owner_and_rest(&mut fields, &UPDATE, rules)?;
    Ok(Move {
        owner,
        metadata,
        id: TaskId::stored(fields.required_text("id")),
        status: fields.required_text("status"),
        notes: fields.text("notes").filter(|notes| !notes.is_empty()),
    })
}

/// Takes the owner, under either of its names, and the remaining metadata. Rejects two owners.
fn owner_and_rest(fields: &mut Fields, tool: &Tool, rules: Rules) -> Result<(Option<String>, Metadata), InputError> {
    let mut metadata = fields.record("metadata").unwrap_or_default();
    let stated = metadata.shift_remove("subagent_id").and_then(|name| name.as_str().map(str::to_owned));
    let owner = fields.text("assigned_to");
    let differ = owner.is_some() && stated.is_some() && owner != stated;
    let clash: &[&str] = if differ { &["assigned_to"] } else { &[] };
    tool.refuse_clash(clash, "metadata.subagent_id", rules)?;
    Ok((owner.or(stated), metadata))
}

/// Checks that the input is empty.
pub fn read_list(input: &Value, rules: Rules) -> Result<(), InputError> {
    LIST.check(input, None, rules).map(drop)
}

/// Returns the answer: one task as an element of an export.
pub fn one(tasks: &[Task], id: &TaskId) -> Answer {
    let element =
        export::write_tasks(tasks).iter().find(|element| element["id"] == id.as_str()).map(export::for_agents);
    let text = serde_json::to_string_pretty(&element).expect("a JSON value always has a text form");
    Answer::new(text, json!({ "task": element }))
}

/// Returns the answer: the array of tasks, and a line about unreadable files. If that exceeds the limit, only the
/// open tasks, and a line about the others.
pub fn listed(tasks: &[Task], unreadable: &[String]) -> Answer {
    let elements: Vec<Value> = export::write_tasks(tasks).iter().map(export::for_agents).collect();
    let last = unreadable_line(unreadable);
    let room = LONGEST.saturating_sub(units(&last));
    let whole = export::print(&elements);
    let text = if units(&whole) <= room { whole } else { open_alone(&elements, room) };
    let mut structured = json!({ "tasks": elements });
    if !unreadable.is_empty() {
        structured["unreadable"] = json!(unreadable);
    }
    Answer::new(format!("{text}{last}"), structured)
}

/// How to list tasks that are left out.
const COMPLETED_SEEN: &str = "`taskyard list --status completed` shows them.";

fn open_alone(elements: &[Value], room: usize) -> String {
    let is_over = |element: &&Value| matches!(element["status"].as_str(), Some("completed" | "cancelled"));
    let open: Vec<Value> = elements.iter().filter(|element| !is_over(element)).cloned().collect();
    let folded = folded(elements.len() - open.len(), COMPLETED_SEEN);
    format!("{}{folded}", elements_that_fit(&open, room.saturating_sub(units(&folded)), export::print))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::listed;
    use crate::{Status, Task, TaskId};

    #[test]
    fn overlong_array_has_open_tasks_and_counts_the_rest() {
        let task = |number| Task { description: "x".repeat(500), ..Task::new(TaskId::number(number), "A title") };
        let mut tasks: Vec<Task> = (1..=900).map(task).collect();
        for task in &mut tasks[..300] {
            task.status = Status::Completed;
        }
        let text = listed(&tasks, &[]).text;
        assert!(text.chars().count() <= 100_000, "{}", text.len());
        let (array, folded) = text.rsplit_once('\n').unwrap();
        assert!(folded.starts_with("+300 completed"), "{folded}");
        let array: Vec<Value> = serde_json::from_str(array).unwrap();
        assert_eq!(array.len(), 600);
        assert_eq!(array[0]["id"], "301");
    }
}
