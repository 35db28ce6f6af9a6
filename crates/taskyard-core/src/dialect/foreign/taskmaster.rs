//! The `tasks.json` of Task Master: tasks with subtasks, in one list or under tags.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::imported::{BadSource, Imported};
use super::markdown::numbered_apart;
use super::objects::{Rest, add_part, set, set_priority};
use crate::json_text;
use crate::{Priority, Status, Task, TaskId};

const FORMAT: &str = "taskmaster";
/// The tag whose tasks have no mark before their ids.
const MAIN_TAG: &str = "master";

/// Reads every task and subtask of every tag.
pub fn read(text: &str) -> Result<Imported, BadSource> {
    let bad = |why: &str| BadSource { format: "Task Master file", why: why.to_owned() };
    let root: Value = json_text::from_str(text).map_err(|error| bad(&error.to_string()))?;
    let Value::Object(root) = root else { return Err(bad("not an object")) };
    let mut imported = Imported::default();
    if let Some(Value::Array(tasks)) = root.get("tasks") {
        take_all(tasks, "", &mut imported);
        return Ok(imported.without_doubles());
    }
    let tags = root.iter().filter_map(|(tag, held)| Some((tag, held.get("tasks")?.as_array()?)));
    let tags: Vec<(&String, &Vec<Value>)> = tags.collect();
    if tags.is_empty() {
        return Err(bad("it has no `tasks`"));
    }
    for (tag, tasks) in tags {
        let prefix = if tag == MAIN_TAG { String::new() } else { format!("{tag}:") };
        take_all(tasks, &prefix, &mut imported);
    }
    Ok(imported.without_doubles())
}

fn take_all(tasks: &[Value], prefix: &str, imported: &mut Imported) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, value) in tasks.iter().enumerate() {
        let place = format!("{prefix}task {}", place + 1);
        let Value::Object(object) = value else {
            imported.lose(place, "not an object");
            continue;
        };
        let mut rest = Rest(object.clone());
        let subtasks = rest.array("subtasks");
        let own = rest.word("id").or_else(|| Some(numbered_apart(rest.0.get("title")?.as_str()?, &mut seen)));
        let Some(own) = own else {
            imported.lose(place, "a task without id or title");
            continue;
        };
        let on: Vec<String> = rest.array("dependencies").iter().filter_map(word).collect();
        let on = on.iter().map(|on| TaskId::stored(format!("{prefix}{on}"))).collect();
        take(rest, TaskId::stored(format!("{prefix}{own}")), on, None, prefix, imported);
        take_subtasks(subtasks, &own, prefix, imported);
    }
}

fn take_subtasks(subtasks: Vec<Value>, parent: &str, prefix: &str, imported: &mut Imported) {
    let siblings: HashSet<String> = subtasks.iter().filter_map(|subtask| last_part(&word(&subtask["id"])?)).collect();
    for subtask in subtasks {
        let (Value::Object(object), Some(own)) = (&subtask, word(&subtask["id"]).and_then(|id| last_part(&id))) else {
            imported.lose(format!("{prefix}{parent}"), "a subtask without id");
            continue;
        };
        let mut rest = Rest(object.clone());
        for key in ["id", "parentTaskId", "parentId"] {
            rest.0.shift_remove(key);
        }
        let on = rest.array("dependencies");
        // A bare number is a sibling, where there is such a one.
        let on = on.iter().filter_map(word).map(|on| match siblings.contains(&on) {
            true => TaskId::stored(format!("{prefix}{parent}.{on}")),
            false => TaskId::stored(format!("{prefix}{on}")),
        });
        let id = TaskId::stored(format!("{prefix}{parent}.{own}"));
        take(rest, id, on.collect(), Some(parent), prefix, imported);
    }
}

fn take(mut rest: Rest, id: TaskId, on: Vec<TaskId>, parent: Option<&str>, prefix: &str, imported: &mut Imported) {
    let title = rest.text("title").unwrap_or_else(|| format!("Task {id}"));
    let mut task = Task { blocked_by: on, ..Task::new(id, title) };
    task.description = rest.text("description").unwrap_or_default();
    for (key, heading) in [("details", "Details"), ("testStrategy", "Test strategy")] {
        if let Some(text) = rest.text(key) {
            add_part(&mut task, heading, &text);
        }
    }
    let word = rest.text("status").unwrap_or_else(|| "pending".to_owned());
    task.status = match word.as_str() {
        "done" | "completed" | "cancelled" => Status::Completed,
        "in-progress" | "review" => Status::InProgress,
        _ => Status::Pending,
    };
    imported.map("status", &word, task.status.as_str());
    match word.as_str() {
        "cancelled" => set(&mut task, "cancelled", true),
        "pending" | "in-progress" | "done" | "completed" | "blocked" => {}
        _ => drop(rest.0.insert("status".to_owned(), word.into())),
    }
    if let Some(word) = rest.text("priority") {
        match word.parse::<Priority>() {
            Ok(priority) => set_priority(&mut task, priority),
            Err(_) => drop(rest.0.insert("priority".to_owned(), word.into())),
        }
    }
    task.owner = rest.text("assignee");
    if let Some(parent) = parent {
        set(&mut task, "parent", format!("{prefix}{parent}"));
    }
    if let Some(tag) = prefix.strip_suffix(':') {
        rest.0.insert("tag".to_owned(), tag.into());
    }
    rest.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns `2` of `5.2`: some versions write the whole id into a subtask.
fn last_part(id: &str) -> Option<String> {
    id.rsplit('.').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::{Status, Task, TaskId};

    const TAGGED: &str = r#"{
  "master": {
    "tasks": [
      {"id": 1, "title": "Set up", "description": "The project", "details": "Use cargo", "testStrategy": "It builds", "status": "done", "dependencies": [], "priority": "high", "subtasks": []},
      {"id": 2, "title": "Build", "description": "", "status": "in-progress", "dependencies": [1], "priority": "medium",
       "subtasks": [
         {"id": 1, "title": "Parser", "description": "", "status": "done", "dependencies": []},
         {"id": 2, "title": "Printer", "description": "", "status": "deferred", "dependencies": [1, "1.1"]}
       ]}
    ],
    "metadata": {"created": "2025-07-01T00:00:00.000Z", "description": "Tasks for master"}
  },
  "spike": {"tasks": [{"id": 1, "title": "Try", "status": "cancelled", "dependencies": []}]}
}"#;

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn tasks_and_subtasks_of_every_tag_come() {
        let tasks = read(TAGGED).unwrap().tasks;
        assert_eq!(ids(&tasks), ["1", "2", "2.1", "2.2", "spike:1"]);
        assert_eq!(tasks[0].description, "The project\n\n## Details\n\nUse cargo\n\n## Test strategy\n\nIt builds");
        assert_eq!((tasks[0].status, tasks[1].status), (Status::Completed, Status::InProgress));
        assert_eq!(tasks[1].blocked_by, [TaskId::number(1)]);
        assert_eq!(tasks[3].blocked_by, ["2.1", "1.1"].map(TaskId::stored));
        assert_eq!(tasks[3].parent(), Some(TaskId::number(2)));
        assert_eq!(tasks[3].meta("taskmaster").unwrap()["status"], "deferred");
        assert!(tasks[4].is_cancelled());
    }

    #[test]
    fn a_file_from_before_there_were_tags_is_read() {
        let text = r#"{"tasks": [{"id": "1", "title": "A", "status": "pending", "dependencies": []}], "metadata": {}}"#;
        assert_eq!(ids(&read(text).unwrap().tasks), ["1"]);
        assert!(read(r#"{"other": 1}"#).is_err());
    }
}
