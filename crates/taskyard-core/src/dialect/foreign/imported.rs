//! What was read from another program's files.

use std::collections::{BTreeMap, HashSet};

use crate::{Task, TaskId};

/// Tasks read from elsewhere, under the ids they have there, and what became of the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The tasks. Their ids, edges and parents are those of the source.
    pub tasks: Vec<Task>,
    /// Which words were taken for which, and how often.
    pub mapped: BTreeMap<Mapping, usize>,
    /// What could not be carried.
    pub losses: Vec<Loss>,
}

/// A word of the source, and what it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// What it is a word for: `status` or `priority`.
    pub field: &'static str,
    /// The word of the source.
    pub from: String,
    /// The word here.
    pub to: &'static str,
}

/// Something that could not be carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where in the source: a task's id, a file or a line.
    pub of: String,
    /// What is not there, and why.
    pub what: String,
}

/// A source that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no {format}: {why}")]
pub struct BadSource {
    /// What it should have been.
    pub format: &'static str,
    /// What is wrong.
    pub why: String,
}

impl Imported {
    /// Takes tasks as they are.
    pub fn of(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }

    /// Notes that a word was taken for another; the same word is not worth noting.
    pub(super) fn map(&mut self, field: &'static str, from: &str, to: &'static str) {
        if from != to {
            *self.mapped.entry(Mapping { field, from: from.to_owned(), to }).or_default() += 1;
        }
    }

    /// Notes something that could not be carried.
    pub fn lose(&mut self, of: impl Into<String>, what: impl Into<String>) {
        self.losses.push(Loss { of: of.into(), what: what.into() });
    }

    /// Lets only the first of several tasks of one id pass.
    #[must_use]
    pub(super) fn without_doubles(mut self) -> Self {
        let mut seen: HashSet<TaskId> = HashSet::new();
        let (first, again): (Vec<Task>, Vec<Task>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|task| seen.insert(task.id.clone()));
        self.tasks = first;
        for task in again {
            self.lose(task.id.as_str(), format!("\"{}\" has the id of an earlier task", task.subject));
        }
        self
    }
}
