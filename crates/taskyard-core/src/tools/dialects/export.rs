//! `TaskCreate`, `TaskUpdate` and `TaskList` in the words of an export

use serde_json::{Value, json};

use crate::dialect::export;
use crate::rules::hooks::gate::System;
use crate::tools::answer::{LONGEST, units};
use crate::tools::fitting::{elements_that_fit, folded, unreadable_line};
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::tool::Fields;
use crate::tools::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::{Metadata, Rules, Task, TaskId};

/// Makes a task.
pub(crate) const CREATE: Tool = Tool {
    name: "TaskCreate",
    description: "Add one task to the shared task list. dependencies are the ids of tasks that must be completed before it starts.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text),
            Field::optional("description", Shape::Text),
            Field::optional("dependencies", Shape::List(&Shape::Text)),
            Field::optional("assigned_to", Shape::Text).saying("The agent whose task it is"),
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

/// What the metadata of a task has to be, as far as the format knows it.
const METADATA: Object = Object { fields: &[Field::optional("subagent_id", Shape::Text)], unknown: Unknown::Kept };

/// Moves a task on.
pub(crate) const UPDATE: Tool = Tool {
    name: "TaskUpdate",
    description: "Change the status of a task, and note why. Set it in_progress before you work on it and completed as soon as it \
        is entirely done; cancelled when it will not be done.",
    input: Object {
        fields: &[
            Field::required("id", Shape::Text),
            Field::required("status", Shape::Choice(&["pending", "in_progress", "completed", "blocked", "cancelled"])),
            Field::optional("notes", Shape::Text),
            Field::optional("assigned_to", Shape::Text)
                .saying("The agent whose task it is; you, where nobody has it and it begins"),
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

/// A task to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// The tasks it waits for.
    pub dependencies: Vec<TaskId>,
    /// Whose it is, where that was said.
    pub owner: Option<String>,
    /// What else is kept with it.
    pub metadata: Metadata,
}

/// A task to be moved on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which one.
    pub id: TaskId,
    /// Where to, in the words of an export.
    pub status: String,
    /// What there is to note.
    pub notes: Option<String>,
    /// Its owner, where one was given; none where it is empty.
    pub owner: Option<String>,
    /// What else is kept with it, key by key.
    pub metadata: Metadata,
}

/// Reads what is to be made.
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

/// Reads what is to be moved on.
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

/// Takes whose a task is, by either of its names, and what else is to be kept with it. Two owners are refused.
fn owner_and_rest(fields: &mut Fields, tool: &Tool, rules: Rules) -> Result<(Option<String>, Metadata), InputError> {
    let mut metadata = fields.record("metadata").unwrap_or_default();
    let stated = metadata.shift_remove("subagent_id").and_then(|name| name.as_str().map(str::to_owned));
    let owner = fields.text("assigned_to");
    let differ = owner.is_some() && stated.is_some() && owner != stated;
    let clash: &[&str] = if differ { &["assigned_to"] } else { &[] };
    tool.refuse_clash(clash, "metadata.subagent_id", rules)?;
    Ok((owner.or(stated), metadata))
}

/// Checks that nothing was given.
pub fn read_list(input: &Value, rules: Rules) -> Result<(), InputError> {
    LIST.check(input, None, rules).map(drop)
}

/// Returns the answer: one task of the list as an export has it.
pub fn one(tasks: &[Task], id: &TaskId) -> Answer {
    let element =
        export::write_tasks(tasks).iter().find(|element| element["id"] == id.as_str()).map(export::for_agents);
    let text = serde_json::to_string_pretty(&element).expect("a JSON value always has a text form");
    Answer::new(text, json!({ "task": element }))
}

/// Returns the answer: the array, and a line on the files that could not be read. Where that is too long, the array of open tasks, and a
/// line on the others.
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

/// How tasks are seen that are not listed.
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
    fn an_array_that_is_too_long_has_every_open_task_and_counts_the_others() {
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
