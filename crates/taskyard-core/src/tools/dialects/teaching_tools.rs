//! The tools `create_task`, `list_tasks`, `get_task`, `claim_task` and `complete_task` on a teaching folder.

use serde_json::{Value, json};

use crate::dialect::teaching;
use crate::rules::hooks::System;
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::tool_answer::{ListLine, few_blockers, lines_that_fit, shortened, unreadable_line};
use crate::tools::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::{Rules, Status, Task, TaskId};

const ONE_TASK: Object = Object::answer(&[Field::required("task", Shape::Record)]);
const ID: Object = Object { fields: &[Field::required("task_id", Shape::Text)], unknown: Unknown::Refused };

/// Creates a task.
pub(crate) const CREATE: Tool = Tool {
    name: "create_task",
    description: "Create a task. blockedBy are the ids of tasks that must be completed before it can be claimed.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text),
            Field::optional("description", Shape::Text),
            Field::optional("blockedBy", Shape::List(&Shape::Text)),
        ],
        unknown: Unknown::Refused,
    },
    output: ONE_TASK,
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Teaching,
};

/// Lists the tasks.
pub(crate) const LIST: Tool = Tool {
    name: "list_tasks",
    description: "List all tasks, one line each, with their status, owner and what they wait for.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    output: Object::answer(&[Field::required("tasks", Shape::List(&Shape::Record))]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Teaching,
};

/// Shows a task.
pub const GET: Tool = Tool {
    name: "get_task",
    description: "Show one task in full, as JSON: its description and dependencies, too.",
    input: ID,
    output: ONE_TASK,
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Teaching,
};

/// Claims a task.
pub(crate) const CLAIM: Tool = Tool {
    name: "claim_task",
    description: "Claim a pending task whose dependencies are all completed: you become its owner and it is in_progress.",
    input: Object {
        fields: &[Field::required("task_id", Shape::Text), Field::optional("owner", Shape::Text)],
        unknown: Unknown::Refused,
    },
    output: ONE_TASK,
    annotations: Annotations::SETTLES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Teaching,
};

/// Completes a task.
pub const COMPLETE: Tool = Tool {
    name: "complete_task",
    description: "Complete a task that is in_progress. The answer says which tasks that unblocked.",
    input: ID,
    output: Object::answer(&[
        Field::required("task", Shape::Record),
        Field::required("unblocked", Shape::List(&Shape::Text)),
    ]),
    annotations: Annotations::SETTLES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Teaching,
};

/// A task to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTask {
    /// The title.
    pub subject: String,
    /// The description.
    pub description: String,
    /// The blockers, which need not exist.
    pub blocked_by: Vec<TaskId>,
}

/// Parses the input of `create_task`.
pub fn read_create(input: &Value, rules: Rules) -> Result<CreateTask, InputError> {
    let mut fields = CREATE.check(input, None, rules)?;
    Ok(CreateTask {
        subject: fields.required_text("subject"),
        description: fields.text("description").unwrap_or_default(),
        blocked_by: fields.list("blockedBy").iter().filter_map(Value::as_str).map(TaskId::stored).collect(),
    })
}

/// Checks that the input is empty.
pub fn read_list(input: &Value, rules: Rules) -> Result<(), InputError> {
    LIST.check(input, None, rules).map(drop)
}

/// Parses the id of a task.
pub fn read_id(tool: &Tool, input: &Value, rules: Rules) -> Result<TaskId, InputError> {
    Ok(TaskId::stored(tool.check(input, None, rules)?.required_text("task_id")))
}

/// Parses the input of `claim_task`: the task, and the owner if given.
pub fn read_claim(input: &Value, rules: Rules) -> Result<(TaskId, Option<String>), InputError> {
    let mut fields = CLAIM.check(input, None, rules)?;
    Ok((TaskId::stored(fields.required_text("task_id")), fields.text("owner")))
}

/// Returns the answer for a created task.
pub fn created(task: &Task) -> Answer {
    Answer::new(format!("Created {}: {}", task.id, task.shown_subject()), json!({ "task": shape(task) }))
}

/// Returns the answer: one line per task, and one about unreadable files.
pub fn listed(tasks: &[Task], unreadable: &[String]) -> Answer {
    let lines: Vec<Line<'_>> = tasks.iter().map(|task| Line { task, blockers: open_blockers(task, tasks) }).collect();
    let last = unreadable_line(unreadable);
    let text =
        if lines.is_empty() { format!("No tasks.{last}") } else { lines_that_fit(&lines, COMPLETED_SEEN, &last) };
    let mut structured = json!({ "tasks": tasks.iter().map(shape).collect::<Vec<_>>() });
    if !unreadable.is_empty() {
        structured["unreadable"] = json!(unreadable);
    }
    Answer::new(text, structured)
}

/// How to list completed tasks that are left out.
const COMPLETED_SEEN: &str = "get_task shows any of them by its id, and `taskyard list --status completed` all.";

/// A task and its open blockers.
struct Line<'a> {
    task: &'a Task,
    blockers: Vec<TaskId>,
}

impl Line<'_> {
    fn told(&self, subject: &str, owner: Option<&str>, blockers: &str) -> String {
        let mark = match self.task.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[>]",
            Status::Completed => "[x]",
        };
        let owner = owner.map(|owner| format!(" @{owner}")).unwrap_or_default();
        let blocked = if blockers.is_empty() { String::new() } else { format!(" (blocked by: {blockers})") };
        format!("{mark} {}: {subject}{owner}{blocked}", self.task.id)
    }
}

impl ListLine for Line<'_> {
    fn id(&self) -> &str {
        self.task.id.as_str()
    }

    fn status(&self) -> Status {
        self.task.status
    }

    fn whole(&self) -> String {
        self.told(&self.task.shown_subject(), self.task.owner(), &joined(&self.blockers))
    }

    fn shortened(&self, longest: usize) -> String {
        let owner = self.task.owner().map(|owner| shortened(owner, longest));
        let blockers = few_blockers(&self.blockers, joined);
        self.told(&shortened(&self.task.shown_subject(), longest), owner.as_deref(), &blockers)
    }
}

fn open_blockers(task: &Task, tasks: &[Task]) -> Vec<TaskId> {
    if task.status.is_open() { unmet(task, tasks) } else { Vec::new() }
}

/// Returns the answer: one task in full.
pub fn found(task: &Task) -> Answer {
    Answer::new(teaching::write(task), json!({ "task": shape(task) }))
}

/// Returns the answer if there is no such task.
pub fn not_found(id: &TaskId) -> Answer {
    Answer::error(format!("Task {id} not found"))
}

/// Returns the answer if the task's status does not allow claiming or completing it.
pub fn wrong_state(task: &Task, verb: &str) -> Answer {
    let owner = task.owner().map(|owner| format!(", owned by {owner}")).unwrap_or_default();
    Answer::error(format!("Task {} is {}{owner}: it cannot be {verb}", task.id, task.status))
}

/// Returns the answer if the task is blocked.
pub fn blocked(task: &TaskId, by: &[TaskId]) -> Answer {
    Answer::error(format!("Task {task} is blocked by: {}", joined(by)))
}

/// Returns the answer for a claimed task.
pub fn claimed(task: &Task) -> Answer {
    let owner = task.owner().unwrap_or_default();
    Answer::new(format!("Claimed {} ({}) for {owner}", task.id, task.shown_subject()), json!({ "task": shape(task) }))
}

/// Returns the answer for a completed task.
pub fn completed(task: &Task, unblocked: &[Task]) -> Answer {
    let mut text = format!("Completed {} ({})", task.id, task.shown_subject());
    if !unblocked.is_empty() {
        let names: Vec<String> =
            unblocked.iter().map(|task| format!("{} ({})", task.id, task.shown_subject())).collect();
        text.push_str(&format!("\nUnblocked: {}", names.join(", ")));
    }
    let unblocked: Vec<&str> = unblocked.iter().map(|task| task.id.as_str()).collect();
    Answer::new(text, json!({ "task": shape(task), "unblocked": unblocked }))
}

/// Returns the blockers that are not completed, including those that do not exist.
pub fn unmet(task: &Task, tasks: &[Task]) -> Vec<TaskId> {
    let is_done = |id: &TaskId| tasks.iter().any(|other| other.id == *id && other.status == Status::Completed);
    task.blocked_by.iter().filter(|id| !is_done(id)).cloned().collect()
}

fn shape(task: &Task) -> Value {
    serde_json::from_str(&teaching::write(task)).unwrap_or_default()
}

fn joined(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}
