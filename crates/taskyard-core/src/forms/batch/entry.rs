//! One new task of a batch.

use crate::{Task, TaskId};

/// One new task of a batch, which names others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEntry {
    /// The line on which it begins, counted from one.
    pub(crate) line: usize,
    /// What other tasks of the batch call it; where it is not said, they may call it by its title.
    pub name: Option<String>,
    /// The task without its id, its edges and what it is a part of.
    pub(crate) task: Task,
    /// What it waits for: names of the batch, or tasks of the list.
    pub(crate) after: Vec<String>,
    /// What waits for it: names of the batch, or tasks of the list.
    pub(crate) before: Vec<String>,
    /// What it is a part of.
    pub(crate) parent: Option<BatchParent>,
}

/// What a new task is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchParent {
    /// A name of the batch, or a task of the list.
    Named(String),
    /// The task at this place of the batch.
    At(usize),
}

impl BatchEntry {
    /// Returns what other tasks of the batch call it: its name, or else its title.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.task.subject)
    }
}

/// What is wrong with a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BatchMistake {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong with it.
    pub(crate) what: String,
}

impl BatchMistake {
    /// Returns the mistake of tasks that wait for each other: each is named by its line, those of the list by their ids.
    pub fn cycle(entries: &[BatchEntry], ids: &[TaskId], path: &[TaskId]) -> Self {
        let entry = |id: &TaskId| ids.iter().position(|own| own == id).and_then(|place| entries.get(place));
        let named = |id: &TaskId| match entry(id) {
            Some(entry) => format!("`{}` (line {})", entry.called().escape_debug(), entry.line),
            None => format!("#{id}"),
        };
        let names: Vec<String> = path.iter().map(named).collect();
        let line = path.iter().filter_map(entry).map(|entry| entry.line).min().unwrap_or(1);
        Self::at(line, format!("that would close a circle: {}", names.join(" waits for ")))
    }

    pub(super) fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}
