//! `TaskList`

use serde_json::{Value, json};

use super::schema::{Object, Unknown};
use super::{Annotations, Answer, InputError, Tool, ToolSet};
use crate::render::{gone_shape, loss_in_words, numbered};
use crate::rules::gate::System;
use crate::rules::listing::{ClientLine, OpenTasks, as_the_client_lists};
use crate::rules::vanishing::Gone;
use crate::{ListId, Rules, Task, TaskId};

/// Lists the tasks.
pub const TOOL: Tool = Tool {
    name: "TaskList",
    description: "List all tasks: id, status, subject, owner, open blockers. Use it to see what there is, and after finishing \
        a task to see what that unblocked. For the text of a task use TaskGet; to get your next task use TaskClaim.",
    input: Object { fields: &[], unknown: Unknown::Refused },
    annotations: Annotations::LOOKS,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// Reads an input: it must be empty.
pub fn read(input: &Value, rules: Rules) -> Result<(), InputError> {
    TOOL.check(input, None, rules).map(drop)
}

/// Returns the answer, given all tasks of the list.
///
/// The client shows blockers that do not exist; in our own rules those do not block, and only what is open is shown. The client knows
/// nothing of tasks that are gone; in our own rules a list that lost open tasks does not read as a new one.
pub fn listed(list: &ListId, tasks: Vec<Task>, gone: Option<&Gone>, rules: Rules) -> Answer {
    let loss = gone.filter(|_| !rules.is_client()).and_then(|gone| told(gone, list));
    if let Some((text, shape)) = loss {
        return Answer::new(text, json!({ "tasks": [], "gone": shape }));
    }
    let tasks = if rules.is_client() { tasks } else { as_we_show_them(tasks) };
    let lines = as_the_client_lists(tasks, rules.client_version());
    let text = if lines.is_empty() {
        "No tasks found".to_owned()
    } else {
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    Answer::new(text, json!({ "tasks": lines.iter().map(entry).collect::<Vec<_>>() }))
}

fn told(gone: &Gone, list: &ListId) -> Option<(String, Value)> {
    let text = loss_in_words(gone, list, |moment| moment.to_string())?;
    Some((format!("No tasks found. {text}"), gone_shape(gone)))
}

fn as_we_show_them(mut tasks: Vec<Task>) -> Vec<Task> {
    let open = OpenTasks::of(&tasks);
    for task in &mut tasks {
        task.blocked_by = open.blockers(task);
        task.subject = task.shown_subject().into_owned();
    }
    tasks
}

fn line(task: &ClientLine) -> String {
    let mut line = format!("#{} [{}] {}", task.id, task.status, task.subject);
    if let Some(owner) = task.owner.as_deref().filter(|owner| !owner.is_empty()) {
        line.push_str(&format!(" ({owner})"));
    }
    if !task.blocked_by.is_empty() {
        line.push_str(&format!(" [blocked by {}]", numbered(&task.blocked_by)));
    }
    line
}

fn entry(task: &ClientLine) -> Value {
    let mut entry = json!({ "id": task.id, "subject": task.subject, "status": task.status.as_str() });
    if let Some(owner) = &task.owner {
        entry["owner"] = json!(owner);
    }
    entry["blockedBy"] = json!(task.blocked_by.iter().map(TaskId::as_str).collect::<Vec<_>>());
    entry
}

#[cfg(test)]
mod tests {
    use crate::rules::vanishing::{Gone, KeptIn};
    use crate::tools::Answer;
    use crate::{ClientVersion, ListId, Rules, Status, Task, TaskId, Timestamp};

    fn listed(tasks: Vec<Task>, rules: Rules) -> Answer {
        super::listed(&ListId::new("L").unwrap(), tasks, None, rules)
    }

    #[test]
    fn a_list_that_lost_open_tasks_does_not_read_as_a_new_one() {
        let list = ListId::new("L").unwrap();
        let with = Some(KeptIn::Directory);
        let gone = Gone { open: 3, completed: 0, with, last_seen: Timestamp(0), noticed: Timestamp(60_000) };
        let answer = |gone, rules| super::listed(&list, Vec::new(), Some(gone), rules);
        let strict = answer(&gone, Rules::Strict);
        assert!(
            strict.text.contains("3 open tasks of list L are gone, and the directory with them"),
            "{}",
            strict.text
        );
        assert!(
            strict.text.contains("between 1970-01-01T00:00:00.000Z and 1970-01-01T00:01:00.000Z"),
            "{}",
            strict.text
        );
        assert!(strict.text.contains("taskyard restore --all"), "{}", strict.text);
        assert_eq!(strict.structured.unwrap()["gone"]["open"], 3);
        assert_eq!(answer(&gone, Rules::Client(ClientVersion::V2_1_325)).text, "No tasks found");
        assert_eq!(answer(&Gone { open: 0, completed: 3, ..gone }, Rules::Strict).text, "No tasks found");
    }

    #[test]
    fn a_blocker_that_does_not_exist_is_shown_by_the_client_alone() {
        let blocked_by = vec![TaskId::number(1), TaskId::number(10), TaskId::number(77)];
        let tasks = vec![
            Task { status: Status::Completed, ..Task::new(TaskId::number(10), "j") },
            Task { owner: Some("ana".into()), blocked_by, ..Task::new(TaskId::number(2), "b") },
            Task::new(TaskId::number(1), "a"),
        ];
        assert_eq!(
            listed(tasks.clone(), Rules::Strict).text,
            "#1 [pending] a\n#2 [pending] b (ana) [blocked by #1]\n#10 [completed] j"
        );
        assert_eq!(
            listed(tasks, Rules::Client(ClientVersion::V2_1_34)).text,
            "#1 [pending] a\n#10 [completed] j\n#2 [pending] b (ana) [blocked by #1, #77]"
        );
        assert_eq!(listed(Vec::new(), Rules::Strict).text, "No tasks found");
    }
}
