//! Which ids tasks have when they leave the list for another place.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::importing::{ABSENT, MARK};
use crate::dialect::macf::{set_parent, with_marks};
use crate::{Task, TaskId};

/// Gives tasks that came from a format the ids they had there, and takes away what says so. One that shares its id with another
/// keeps the one it has here.
pub fn sent_back(tasks: Vec<Task>, format: &str) -> Vec<Task> {
    let mut back: HashMap<TaskId, TaskId> =
        tasks.iter().filter_map(|task| Some((task.id.clone(), id_there(task, format)?))).collect();
    loop {
        let mut taken: HashMap<&TaskId, usize> = HashMap::new();
        for task in &tasks {
            *taken.entry(back.get(&task.id).unwrap_or(&task.id)).or_default() += 1;
        }
        let shared: HashSet<TaskId> =
            back.iter().filter(|(_, there)| taken[there] > 1).map(|(here, _)| here.clone()).collect();
        if shared.is_empty() {
            break;
        }
        back.retain(|here, _| !shared.contains(here));
    }
    tasks.into_iter().map(|task| one_sent_back(task, &back)).collect()
}

/// Gives tasks whose ids cannot name a file others that can, and returns which became which.
pub fn with_file_names(tasks: Vec<Task>) -> (Vec<Task>, Vec<(TaskId, TaskId)>) {
    let is_safe = |task: &&Task| task.id.file_stem() == task.id.as_str();
    let mut taken: HashSet<String> = tasks.iter().filter(is_safe).map(|task| task.id.file_stem()).collect();
    let mut renamed = Vec::new();
    for task in tasks.iter().filter(|task| !is_safe(task)) {
        let stem = task.id.file_stem();
        let others = (2..).map(|number| format!("{stem}-{number}"));
        let free = std::iter::once(stem.clone()).chain(others).find(|name| taken.insert(name.clone()));
        renamed.extend(free.map(|name| (task.id.clone(), TaskId::stored(name))));
    }
    if renamed.is_empty() {
        return (tasks, renamed);
    }
    let names: HashMap<TaskId, TaskId> = renamed.iter().cloned().collect();
    let rename = |task: Task| {
        let id = names.get(&task.id).cloned().unwrap_or_else(|| task.id.clone());
        let renamed = Task { id, ..with_other_ids(task.clone(), &names) };
        marked_anew(&task, renamed)
    };
    (tasks.into_iter().map(rename).collect(), renamed)
}

fn id_there(task: &Task, format: &str) -> Option<TaskId> {
    let mark = task.meta(MARK)?;
    let id = mark.get("id")?.as_str().filter(|id| !id.is_empty())?;
    (mark.get("from")?.as_str() == Some(format)).then(|| TaskId::stored(id))
}

/// Returns a task whose edges and parent are called by other ids.
fn with_other_ids(mut task: Task, ids: &HashMap<TaskId, TaskId>) -> Task {
    let translated = |id: &TaskId| ids.get(id).unwrap_or(id).clone();
    for edge in task.blocks.iter_mut().chain(&mut task.blocked_by) {
        *edge = translated(edge);
    }
    if let Some(parent) = task.parent().filter(|parent| ids.contains_key(parent)) {
        set_parent(&mut task, Some(&translated(&parent)));
    }
    task
}

fn one_sent_back(task: Task, back: &HashMap<TaskId, TaskId>) -> Task {
    let before = task;
    let mut task = with_other_ids(before.clone(), back);
    let Some(metadata) = &mut task.metadata else { return task };
    let Some(there) = back.get(&task.id) else { return task };
    let absent = metadata.get(MARK).and_then(|mark| mark.get(ABSENT)).and_then(Value::as_array);
    let absent: Vec<TaskId> = absent.into_iter().flatten().filter_map(Value::as_str).map(TaskId::stored).collect();
    task.blocked_by.extend(absent);
    // Where it came from before that, it still came from.
    let earlier = metadata.get(MARK).and_then(|mark| mark.get("before")).cloned();
    match earlier {
        Some(earlier) => drop(metadata.insert(MARK.to_owned(), earlier)),
        None => drop(metadata.shift_remove(MARK)),
    }
    if metadata.is_empty() {
        task.metadata = None;
    }
    marked_anew(&before, Task { id: there.clone(), stated_id: None, ..task })
}

/// Returns a task that got another id with what stands before its title following.
fn marked_anew(before: &Task, mut task: Task) -> Task {
    if let Some(subject) = with_marks(before, &task, None) {
        task.subject = subject;
    }
    task
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{sent_back, with_file_names};
    use crate::{Task, TaskId};

    fn from_there(id: u64, there: &str) -> Task {
        let metadata = json!({"imported": {"from": "export", "source": "/x", "id": there}});
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(id), "s") }
    }

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn what_it_waits_for_and_did_not_come_is_waited_for_there_again() {
        let metadata = json!({"imported": {"from": "export", "source": "/x", "id": "a", "waitsFor": ["gone"]}});
        let task = Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "s") };
        assert_eq!(sent_back(vec![task.clone()], "export")[0].blocked_by, [TaskId::stored("gone")]);
        assert_eq!(sent_back(vec![task.clone()], "document"), [task]);
    }

    #[test]
    fn ids_edges_and_parents_are_those_of_the_source() {
        let mut two = from_there(2, "b");
        two.blocked_by = vec![TaskId::number(1), TaskId::number(3)];
        two.metadata.as_mut().unwrap().insert("parent".into(), json!("1"));
        let back = sent_back(vec![from_there(1, "a"), two, Task::new(TaskId::number(3), "s")], "export");
        assert_eq!(ids(&back), ["a", "b", "3"]);
        assert_eq!(back[1].blocked_by, [TaskId::stored("a"), TaskId::number(3)]);
        assert_eq!((&back[0].metadata, back[1].parent()), (&None, Some(TaskId::stored("a"))));
    }

    #[test]
    fn ids_that_cannot_name_a_file_become_others_and_no_two_the_same() {
        let mut last = Task::new(TaskId::stored("x"), "s");
        last.blocked_by = vec![TaskId::stored("a/b"), TaskId::stored("a-b")];
        let tasks = ["a/b", "a-b", "a?b"].map(|id| Task::new(TaskId::stored(id), "s"));
        let (told, renamed) = with_file_names(tasks.into_iter().chain([last]).collect());
        assert_eq!(ids(&told), ["a-b-2", "a-b", "a-b-3", "x"]);
        assert_eq!(told[3].blocked_by, ["a-b-2", "a-b"].map(TaskId::stored));
        assert_eq!(renamed[0], (TaskId::stored("a/b"), TaskId::stored("a-b-2")));
    }

    #[test]
    fn what_came_from_elsewhere_keeps_its_id() {
        assert_eq!(ids(&sent_back(vec![from_there(1, "a")], "document")), ["1"]);
    }

    #[test]
    fn two_tasks_never_get_one_id() {
        let back = sent_back(vec![from_there(1, "a"), from_there(2, "a"), from_there(3, "1")], "export");
        assert_eq!(ids(&back), ["1", "2", "3"]);
        let back = sent_back(vec![from_there(1, "2"), from_there(2, "1")], "export");
        assert_eq!(ids(&back), ["2", "1"]);
    }
}
