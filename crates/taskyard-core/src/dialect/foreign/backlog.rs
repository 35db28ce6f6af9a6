//! The task files of Backlog.md: Markdown with a head.

use serde_json::Value;

use super::front_matter::{Field, divide};
use super::imported::Imported;
use super::objects::{Rest, set, set_priority};
use crate::{DUE, Priority, Status, Task, TaskId};

const FORMAT: &str = "backlog";

/// Reads task files, each given by its name and its text.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Imported {
    let mut imported = Imported::default();
    for (name, text) in files {
        match divide(text) {
            Some((fields, body)) => take(fields, body, name, &mut imported),
            None => imported.lose(name, "it has no head between two lines of `---`"),
        }
    }
    imported.without_doubles()
}

fn take(fields: Vec<(String, Field)>, body: &str, name: &str, imported: &mut Imported) {
    let mut rest = Rest(fields.into_iter().map(|(key, field)| (key, value(field))).collect());
    let (Some(id), Some(title)) = (rest.text("id"), rest.text("title")) else {
        return imported.lose(name, "a task without id or title");
    };
    let mut task = Task::new(reference(&id), title);
    body.trim().clone_into(&mut task.description);
    let word = rest.text("status").unwrap_or_else(|| "To Do".to_owned());
    task.status = match word.to_lowercase().as_str() {
        "done" | "completed" | "complete" => Status::Completed,
        "in progress" => Status::InProgress,
        _ => Status::Pending,
    };
    imported.map("status", &word, task.status.as_str());
    // A project may have states of its own.
    if !["to do", "in progress", "done"].contains(&word.to_lowercase().as_str()) {
        rest.0.insert("status".to_owned(), word.into());
    }
    take_assignees(&mut rest, &mut task);
    let labels = rest.array("labels");
    if !labels.is_empty() {
        set(&mut task, "tags", labels);
    }
    let on = rest.array("dependencies");
    task.blocked_by = on.iter().filter_map(Value::as_str).map(reference).collect();
    if let Some(on) = rest.text("dependencies") {
        task.blocked_by.push(reference(&on));
    }
    if let Some(parent) = rest.text("parent_task_id") {
        set(&mut task, "parent", reference(&parent).as_str());
    }
    if let Some(word) = rest.text("priority") {
        match word.parse::<Priority>() {
            Ok(priority) => set_priority(&mut task, priority),
            Err(_) => drop(rest.0.insert("priority".to_owned(), word.into())),
        }
    }
    let mut times = Rest(rest.0.clone());
    times.moment("due_date", &mut task, DUE, true);
    times.moment("due", &mut task, DUE, true);
    rest.0.retain(|_, value| value.as_str() != Some("") && value.as_array().is_none_or(|items| !items.is_empty()));
    rest.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

/// Takes the first assignee for the owner; where there are several, all are carried.
fn take_assignees(rest: &mut Rest, task: &mut Task) {
    let assignees = match rest.text("assignee") {
        Some(one) => vec![Value::String(one)],
        None => rest.array("assignee"),
    };
    let first = assignees.first().and_then(Value::as_str);
    task.owner = first.map(|name| name.strip_prefix('@').unwrap_or(name).to_owned()).filter(|name| !name.is_empty());
    if assignees.len() > 1 {
        rest.0.insert("assignee".to_owned(), assignees.into());
    }
}

/// Returns an id as the tasks refer to each other: without regard to case.
fn reference(id: &str) -> TaskId {
    TaskId::stored(id.trim().to_lowercase())
}

fn value(field: Field) -> Value {
    match field {
        Field::Text(text) => text.into(),
        Field::List(items) => items.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::{Priority, Status, TaskId};

    const FIRST: &str = "---\nid: task-1\ntitle: Design the schema\nstatus: Done\nassignee:\n  - '@ana'\n  - '@bob'\ncreated_date: '2025-06-08 10:00'\nlabels:\n  - db\ndependencies: []\npriority: high\nordinal: 1000\n---\n\n## Description\n\nAll tables.\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 It migrates\n<!-- AC:END -->\n";
    const SECOND: &str = "---\nid: TASK-1.1\ntitle: Write the API\nstatus: In Review\nassignee: []\ncreated_date: '2025-06-09'\nlabels: []\ndependencies:\n  - TASK-1\nparent_task_id: task-1\n---\n";

    #[test]
    fn files_come_with_their_states_edges_and_parents() {
        let imported = read([("task-1 - Design.md", FIRST), ("task-1.1 - API.md", SECOND), ("readme.md", "# Hello\n")]);
        let [first, second] = imported.tasks.as_slice() else { panic!("{:?}", imported.tasks) };
        assert_eq!((first.status, second.status), (Status::Completed, Status::Pending));
        assert_eq!((first.owner(), first.priority()), (Some("ana"), Priority::High));
        assert!(first.description.starts_with("## Description\n\nAll tables."));
        assert_eq!(second.blocked_by, [TaskId::stored("task-1")]);
        assert_eq!(second.parent(), Some(first.id.clone()));
        let carried = json!({"created_date": "2025-06-08 10:00", "ordinal": "1000", "assignee": ["@ana", "@bob"]});
        assert_eq!(first.meta("backlog"), Some(&carried));
        assert_eq!(second.meta("backlog").unwrap()["status"], "In Review");
        assert_eq!(imported.losses[0].of, "readme.md");
    }

    #[test]
    fn a_due_date_is_taken_at_the_end_of_its_day() {
        let file = "---\nid: task-1\ntitle: t\nstatus: To Do\ndue_date: '2026-11-20'\n---\n";
        let task = read([("task-1.md", file)]).tasks.remove(0);
        assert_eq!(task.meta("due").unwrap(), "2026-11-20T23:59:59.999Z");
        assert_eq!(task.meta("backlog").unwrap()["due_date"], "2026-11-20");
    }
}
