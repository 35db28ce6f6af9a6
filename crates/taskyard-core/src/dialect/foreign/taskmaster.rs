//! The `tasks.json` of Task Master: tasks with subtasks, in one list or under tags.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::imported::{BadSource, Imported};
use crate::dialect::foreign::checklists::numbered_apart;
use crate::dialect::foreign::imported::{Rest, add_part, carried, set, set_priority, take_part};
use crate::{Priority, Status, Task, TaskId, Timestamp, json_text};

const FORMAT: &str = "taskmaster";
/// The tag whose task ids have no prefix.
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
        // A bare number is a sibling, if such a sibling exists.
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

/// Returns `2` for `5.2`: some versions write the whole id into a subtask.
fn last_part(id: &str) -> Option<String> {
    id.rsplit('.').next().map(str::to_owned)
}

/// Writes tasks under their tags. Parts at any depth become subtasks of the top-level task; a task whose id is not a
/// number gets a number.
pub fn write(tasks: &[Task], now: Timestamp) -> String {
    let numbering = Numbering::of(tasks);
    let mut tags: Map<String, Value> = Map::new();
    for task in tasks.iter().filter(|task| numbering.top_of(task).is_none()) {
        let mut object = element(task, &numbering);
        let subtasks = tasks.iter().filter(|part| numbering.top_of(part) == Some(&task.id));
        let subtasks: Vec<Value> = subtasks.map(|part| Value::Object(element(part, &numbering))).collect();
        object.insert("subtasks".to_owned(), subtasks.into());
        let tag = task.id.as_str().split_once(':').map_or(MAIN_TAG, |(tag, _)| tag);
        let metadata =
            json!({"created": now.to_string(), "updated": now.to_string(), "description": "Tasks from Taskyard"});
        let held = tags.entry(tag).or_insert_with(|| json!({"tasks": [], "metadata": metadata}));
        if let Some(Value::Array(all)) = held.get_mut("tasks") {
            all.push(Value::Object(object));
        }
    }
    tags.entry(MAIN_TAG).or_insert_with(|| json!({"tasks": [], "metadata": {}}));
    format!("{:#}\n", Value::Object(tags))
}

/// The numbers assigned to tasks: one, or for a subtask two with a dot between them.
struct Numbering<'a> {
    top: HashMap<&'a TaskId, TaskId>,
    numbers: HashMap<&'a TaskId, (u64, Option<u64>)>,
}

impl<'a> Numbering<'a> {
    fn of(tasks: &'a [Task]) -> Self {
        let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let mut top: HashMap<&TaskId, TaskId> = HashMap::new();
        for task in tasks {
            let mut seen = HashSet::from([task.id.clone()]);
            let mut at = task;
            while let Some(above) =
                at.parent().filter(|parent| seen.insert(parent.clone())).and_then(|parent| by_id.get(&parent))
            {
                at = above;
            }
            // Tasks that are parts of each other count as top-level tasks.
            let is_in_circle = at.parent().is_some_and(|parent| seen.contains(&parent));
            if at.id != task.id && !is_in_circle {
                top.insert(&task.id, at.id.clone());
            }
        }
        let own = |id: &TaskId| id.as_str().rsplit([':', '.']).next().and_then(|last| last.parse::<u64>().ok());
        let mut numbers: HashMap<&TaskId, (u64, Option<u64>)> = HashMap::new();
        let mut taken: HashSet<(String, u64)> = HashSet::new();
        let mut number = |id: &TaskId, within: String| {
            let stated = own(id).filter(|number| *number > 0);
            let number = stated.into_iter().chain(1..).find(|number| taken.insert((within.clone(), *number)));
            number.unwrap_or(1)
        };
        for task in tasks.iter().filter(|task| !top.contains_key(&task.id)) {
            let tag = task.id.as_str().split_once(':').map_or("", |(tag, _)| tag);
            numbers.insert(&task.id, (number(&task.id, tag.to_owned()), None));
        }
        for task in tasks {
            if let Some(above) = top.get(&task.id) {
                let whole = numbers[above].0;
                numbers.insert(&task.id, (whole, Some(number(&task.id, format!("{above}/")))));
            }
        }
        Self { top, numbers }
    }

    fn top_of(&self, task: &Task) -> Option<&TaskId> {
        self.top.get(&task.id)
    }

    /// Returns how a task refers to another one: to siblings only by their last number.
    fn reference(&self, from: &Task, on: &TaskId) -> Value {
        match self.numbers.get(on) {
            // A missing task keeps the name it had.
            None => on.as_str().rsplit(':').next().unwrap_or_default().into(),
            Some((whole, None)) => (*whole).into(),
            Some((_, Some(part))) if self.top.get(on) == self.top_of(from) => (*part).into(),
            Some((whole, Some(part))) => format!("{whole}.{part}").into(),
        }
    }
}

fn element(task: &Task, numbering: &Numbering<'_>) -> Map<String, Value> {
    let mut object = carried(task, FORMAT);
    let was = object.shift_remove("status");
    object.shift_remove("tag");
    let status = match (task.status, was.as_ref().and_then(Value::as_str)) {
        (Status::Completed, _) if task.is_cancelled() => "cancelled",
        (Status::Completed, _) => "done",
        (Status::InProgress, Some("review")) => "review",
        (Status::InProgress, _) => "in-progress",
        (Status::Pending, Some(word)) => word,
        (Status::Pending, None) => "pending",
    };
    let mut description = task.description.clone();
    let test = take_part(&mut description, "Test strategy").unwrap_or_default();
    let details = take_part(&mut description, "Details").unwrap_or_default();
    let (whole, part) = numbering.numbers[&task.id];
    let on: Vec<Value> = task.blocked_by.iter().map(|on| numbering.reference(task, on)).collect();
    let priority = task.stated_priority().map_or("medium", Priority::as_str);
    let fields: [(&str, Value); 8] = [
        ("id", part.unwrap_or(whole).into()),
        ("title", task.subject.as_str().into()),
        ("description", description.into()),
        ("details", details.into()),
        ("testStrategy", test.into()),
        ("status", status.into()),
        ("dependencies", on.into()),
        ("priority", priority.into()),
    ];
    let mut written: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    written.extend(task.owner().map(|owner| ("assignee".to_owned(), owner.into())));
    object.retain(|key, _| !written.contains_key(key));
    written.extend(object);
    written
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
    fn what_is_written_is_read_again() {
        let tasks = read(TAGGED).unwrap().tasks;
        let text = super::write(&tasks, crate::Timestamp(0));
        let again = read(&text).unwrap().tasks;
        let facts = |tasks: &[Task]| -> Vec<_> {
            let fact = |task: &Task| {
                (
                    task.id.clone(),
                    task.subject.clone(),
                    task.description.clone(),
                    task.status,
                    task.blocked_by.clone(),
                    task.parent(),
                )
            };
            tasks.iter().map(fact).collect()
        };
        assert_eq!(facts(&again), facts(&tasks), "{text}");
        assert_eq!(again[3].meta("taskmaster").unwrap()["status"], "deferred");
    }

    #[test]
    fn parts_of_parts_are_subtasks_of_the_whole() {
        let part = |id: &str, parent: &str, on: &[&str]| Task {
            metadata: serde_json::json!({ "parent": parent }).as_object().cloned(),
            blocked_by: on.iter().map(|id| TaskId::stored(*id)).collect(),
            ..Task::new(TaskId::stored(id), id)
        };
        let tasks = [
            Task::new(TaskId::number(3), "whole"),
            part("4", "3", &[]),
            part("5", "4", &["4"]),
            part("a", "b", &[]),
            part("b", "a", &["5"]),
        ];
        let again = read(&super::write(&tasks, crate::Timestamp(0))).unwrap().tasks;
        assert_eq!(ids(&again), ["3", "3.4", "3.5", "1", "2"]);
        assert_eq!((again[2].blocked_by[0].as_str(), again[4].blocked_by[0].as_str()), ("3.4", "3.5"));
    }

    #[test]
    fn a_file_from_before_there_were_tags_is_read() {
        let text = r#"{"tasks": [{"id": "1", "title": "A", "status": "pending", "dependencies": []}], "metadata": {}}"#;
        assert_eq!(ids(&read(text).unwrap().tasks), ["1"]);
        assert!(read(r#"{"other": 1}"#).is_err());
    }
}
