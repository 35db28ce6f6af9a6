//! The `TaskGet` tool.

use serde_json::{Value, json};

use super::refusing::{Surroundings, explain};
use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::render::{escaping, numbered};
use crate::rules::changes::notes::{NoteRead, notes_of, read_note};
use crate::rules::hooks::System;
use crate::rules::refusal::Refusal;
use crate::tools::refusing::{task_id, with_task_id};
use crate::tools::tool_answer::{IDS, STATUSES, subject_told};
use crate::{Rules, Task, TaskId};

/// Reads one task.
pub const TOOL: Tool = Tool {
    name: "TaskGet",
    description: "Read one task: status, description, what it waits for, what waits for it, and the notes agents left on it. \
        Use it before you start on a task. For an overview use TaskList.",
    input: Object { fields: &[Field::required("taskId", Shape::Text)], unknown: Unknown::Refused },
    output: Object::answer(&[Field::required("task", Shape::AnyOf(&[Shape::Object(FOUND), Shape::Null]))]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// A task as programs get it.
const FOUND: Object = Object::answer(&[
    Field::required("id", Shape::Text),
    Field::required("subject", Shape::Text),
    Field::required("description", Shape::Text),
    Field::required("status", STATUSES),
    Field::required("blocks", IDS),
    Field::required("blockedBy", IDS),
]);

/// Reads one task, as the client has it: it knows no notes.
const CLIENTS_TOOL: Tool = Tool {
    description: "Read one task: status, description, what it waits for, what waits for it. Use it before you start on a task. \
        For an overview use TaskList.",
    input: Object {
        fields: &[Field::required("taskId", Shape::Text).saying("The ID of the task to retrieve")],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// So many notes are shown, the newest.
const NOTES: usize = 50;

/// Reads an input. Not even the newest client repairs this one; strict rules take the names that other tools take.
pub fn read(input: &Value, rules: Rules) -> Result<TaskId, InputError> {
    let input = if rules.is_client() { input.clone() } else { with_task_id(input, rules) };
    let mut fields = TOOL.check(&input, None, rules)?;
    Ok(task_id(fields.required_text("taskId"), rules))
}

/// Returns the answer where there is such a task.
pub fn found(task: &Task, rules: Rules) -> Answer {
    let mut structured = json!({ "task": {
        "id": task.shown_id(),
        "subject": subject_told(task, rules),
        "description": task.description,
        "status": task.status.as_str(),
        "blocks": task.blocks.iter().map(TaskId::as_str).collect::<Vec<_>>(),
        "blockedBy": task.blocked_by.iter().map(TaskId::as_str).collect::<Vec<_>>(),
    }});
    let mut text = page(task, rules);
    let notes = if rules.is_client() { &[] } else { notes_of(task) };
    if !notes.is_empty() {
        structured["task"]["notes"] = notes.into();
        text.push_str(&noted(notes));
    }
    Answer::new(text, structured)
}

/// Says of a task that this is how it was before its file could no longer be read.
pub fn last_known(file: &str, why: &str) -> String {
    let file = escaping::one_line(file);
    format!("\n\n`{file}` could not be read: {why}. This is the last known state of the task; run `taskyard doctor`.")
}

/// Tells the newest notes, each with when it was made and by whom, as far as it says so.
fn noted(notes: &[Value]) -> String {
    let mut text = "\nNotes:".to_owned();
    let earlier = notes.len().saturating_sub(NOTES);
    if earlier > 0 {
        text.push_str(&format!("\n({earlier} earlier notes are not shown)"));
    }
    for note in &notes[earlier..] {
        let NoteRead { at, author, text: said } = read_note(note);
        let head: Vec<&str> = at.into_iter().chain(author).collect();
        let colon = if head.is_empty() { "" } else { ": " };
        let said = said.trim_end().replace('\n', "\n  ");
        text.push_str(&format!("\n- {}{colon}{said}", head.join(" ")));
    }
    text
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::found;
    use crate::{ClientVersion, Rules, Task, TaskId};

    #[test]
    fn notes_are_shown_in_strict_rules_alone() {
        let mut task = Task::new(TaskId::number(1), "s");
        let notes = json!(["by hand", {"at": "2026-01-02T12:00:00.000Z", "author": "ana", "text": "one\ntwo"}]);
        task.metadata = json!({ "notes": notes }).as_object().cloned();
        let answer = found(&task, Rules::Strict);
        let page = "Task #1: s\nStatus: pending\nDescription: ";
        let told = "\nNotes:\n- by hand\n- 2026-01-02T12:00:00.000Z ana: one\n  two";
        assert_eq!(answer.text, format!("{page}{told}"));
        assert_eq!(found(&task, Rules::Client(ClientVersion::V2_1_325)).text, page);
    }
}
