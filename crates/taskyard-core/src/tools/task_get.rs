//! `TaskGet`

use serde_json::{Value, json};

use super::refusing::{Surroundings, explain};
use super::repairing::task_id;
use super::said::subject_told;
use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Tool, ToolSet};
use crate::render::numbered;
use crate::rules::gate::System;
use crate::rules::refusal::Refusal;
use crate::{Rules, Task, TaskId};

/// Reads one task.
pub const TOOL: Tool = Tool {
    name: "TaskGet",
    description: "Read one task in full: its description, what it waits for, what waits for it. Use it before you start on a \
        task. For an overview use TaskList.",
    input: Object { fields: &[Field::required("taskId", Shape::Text)], unknown: Unknown::Refused },
    annotations: Annotations::LOOKS,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// Reads an input. Not even the newest client repairs this one.
pub fn read(input: &Value, rules: Rules) -> Result<TaskId, InputError> {
    let mut fields = TOOL.check(input, None, rules)?;
    Ok(task_id(fields.required_text("taskId"), rules))
}

/// Returns the answer where there is such a task.
pub fn found(task: &Task, rules: Rules) -> Answer {
    let structured = json!({ "task": {
        "id": task.shown_id(),
        "subject": subject_told(task, rules),
        "description": task.description,
        "status": task.status.as_str(),
        "blocks": task.blocks.iter().map(TaskId::as_str).collect::<Vec<_>>(),
        "blockedBy": task.blocked_by.iter().map(TaskId::as_str).collect::<Vec<_>>(),
    }});
    Answer::new(page(task, rules), structured)
}

/// Returns a task as the client shows it.
pub(super) fn page(task: &Task, rules: Rules) -> String {
    let mut page = format!(
        "Task #{}: {}\nStatus: {}\nDescription: {}",
        task.shown_id(),
        subject_told(task, rules),
        task.status,
        task.description
    );
    if !task.blocked_by.is_empty() {
        page.push_str(&format!("\nBlocked by: {}", numbered(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        page.push_str(&format!("\nBlocks: {}", numbered(&task.blocks)));
    }
    page
}

/// Returns the answer where there is none, or where it cannot be read.
pub fn refused(refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    match refusal {
        Refusal::NoSuchTask { .. } => Answer::new("Task not found", json!({ "task": null })),
        refusal => Answer::error(explain(refusal, around)),
    }
}
