//! The `TaskRelease` tool.

use serde_json::{Value, json};

use super::refusing::{Surroundings, explain};
use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::answers::claim_answers::Released;
use crate::rules::hooks::System;
use crate::rules::refusal::Refusal;
use crate::tools::refusing::{task_id, with_task_id};
use crate::tools::tool_answer::NATIVE_TASK;
use crate::{Rules, TaskId};

/// Releases a task.
pub const TOOL: Tool = Tool {
    name: "TaskRelease",
    description: "Give back a task you claimed and cannot finish: it becomes pending and unowned, and others can take it. Say \
        why, for the next agent. Not for finished work: complete that with TaskUpdate.",
    input: Object {
        fields: &[Field::required("taskId", Shape::Text), Field::optional("reason", Shape::Text)],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("released", Shape::Flag),
        Field::optional("task", NATIVE_TASK),
        Field::optional("revision", Shape::Integer),
        Field::optional("error", Shape::Text),
    ]),
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// A checked input of `TaskRelease`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRelease {
    /// The task.
    pub task: TaskId,
    /// The reason, for the agent that takes the task next.
    pub reason: Option<String>,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskRelease, InputError> {
    let mut fields = TOOL.check(&with_task_id(input, rules), None, rules)?;
    let task = task_id(fields.required_text("taskId"), rules);
    Ok(TaskRelease { task, reason: fields.text("reason").filter(|reason| !reason.trim().is_empty()) })
}

/// Returns the answer for a released task, or one that had no owner.
pub fn released(released: &Released<'_>) -> Answer {
    let text = format!(
        "Task #{} given back: it is pending, and others can take it. Call TaskClaim without taskId for another task.",
        released.task.0.id
    );
    Answer::new(text, json!(released))
}

/// Returns the answer for a refused call.
pub fn refused(refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    let text = explain(refusal, around);
    Answer::error(text.as_str()).with(json!({ "released": false, "error": text }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TaskRelease, read, refused, released};
    use crate::answers::claim_answers::Released;
    use crate::dialect::native::Shape;
    use crate::rules::hooks::System;
    use crate::rules::refusal::Refusal;
    use crate::tools::{Surroundings, ToolNames};
    use crate::{AgentName, Rules, Task, TaskId, Timestamp};

    #[test]
    fn a_blank_reason_is_none() {
        let release = |reason: Option<&str>| TaskRelease { task: TaskId::number(7), reason: reason.map(Into::into) };
        let read = |input| read(&input, Rules::Strict).unwrap();
        assert_eq!(read(json!({ "taskId": "7", "reason": " " })), release(None));
        assert_eq!(read(json!({ "task_id": "7", "reason": "no network" })), release(Some("no network")));
    }

    #[test]
    fn both_answers_say_what_to_do_now() {
        let task = Task::new(TaskId::number(7), "Write");
        let released = released(&Released { released: true, task: Shape(&task), revision: None });
        assert!(released.text.ends_with("Call TaskClaim without taskId for another task."));
        let agent = AgentName::new("ana").unwrap();
        let around = Surroundings {
            tasks: &[task],
            agent: &agent,
            roles: &[],
            now: Timestamp(0),
            rules: Rules::Strict,
            names: ToolNames::of(System::Tasks),
        };
        let answer = refused(&Refusal::AlreadyCompleted { task: TaskId::number(7) }, &around);
        assert!(answer.is_error && answer.text.contains("set its status to pending with TaskUpdate"));
    }
}
