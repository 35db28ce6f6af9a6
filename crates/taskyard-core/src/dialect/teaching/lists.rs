//! Whole lists from and to a folder.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::element::{carried_of, read, write};
use crate::dialect::native::Unreadable;
use crate::{Task, TaskId};

/// A folder: the contents of each task's file, by name, and what is carried beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folder {
    /// The contents of each file, by the task it belongs to.
    pub files: BTreeMap<TaskId, Vec<u8>>,
    /// What is carried for each task.
    pub carried: BTreeMap<TaskId, Map<String, Value>>,
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TasksRead {
    /// The tasks, by rising name.
    pub tasks: Vec<Task>,
    /// What is no task, and why.
    pub problems: Vec<(TaskId, Unreadable)>,
}

/// Reads every task of a folder.
pub fn read_tasks(folder: &Folder) -> TasksRead {
    let waiting = waiting(folder);
    let mut found = TasksRead::default();
    for (id, bytes) in &folder.files {
        let blocks = waiting.get(id).map_or(&[][..], Vec::as_slice);
        match read(id, bytes, folder.carried.get(id), blocks) {
            Ok(task) => found.tasks.push(task),
            Err(why) => found.problems.push((id.clone(), why)),
        }
    }
    found
}

/// Writes tasks as a folder.
pub fn write_tasks(tasks: &[Task]) -> Folder {
    let mut folder = Folder::default();
    for task in tasks {
        folder.files.insert(task.id.clone(), write(task).into_bytes());
    }
    let waiting = waiting(&folder);
    for task in tasks {
        let written = folder.files.get(&task.id).map_or(&[][..], Vec::as_slice);
        let carried = carried_of(task, written, waiting.get(&task.id).map_or(&[][..], Vec::as_slice));
        if !carried.is_empty() {
            folder.carried.insert(task.id.clone(), carried);
        }
    }
    folder
}

/// Returns which tasks wait for each task, by what the waiting ones say.
pub fn waiting(folder: &Folder) -> HashMap<TaskId, Vec<TaskId>> {
    let mut waiting: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for (id, bytes) in &folder.files {
        let Ok(task) = read(id, bytes, None, &[]) else { continue };
        for on in task.blocked_by {
            waiting.entry(on).or_default().push(id.clone());
        }
    }
    waiting
}
