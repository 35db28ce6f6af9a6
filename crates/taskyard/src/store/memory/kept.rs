//! What a list in memory holds at one moment.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use taskyard_core::dialect::native::{Unreadable, parse_int};
use taskyard_core::{Image, Lease, ListId, Revision, Task, TaskId, Timestamp, Token};

use crate::store::{Lookup, Problem};

/// One task as it is kept: its image, and what can be read from it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: TaskId,
    pub(super) image: Image,
    pub(super) task: Result<Task, Unreadable>,
}

impl Kept {
    pub(super) fn new(id: TaskId, image: Image) -> Arc<Self> {
        let task = image.task(&id);
        Arc::new(Self { id, image, task })
    }

    pub(super) fn lookup(&self, list: &ListId) -> Lookup {
        match &self.task {
            Ok(task) => Lookup::Found(Box::new(task.clone()), self.image.clone()),
            Err(why) => Lookup::Unreadable(self.problem(list, why.clone())),
        }
    }

    pub(super) fn as_problem(&self, list: &ListId) -> Option<Problem> {
        self.task.as_ref().err().map(|why| self.problem(list, why.clone()))
    }

    fn problem(&self, list: &ListId, why: Unreadable) -> Problem {
        Problem { task: self.id.clone(), path: path_of(list, &self.id), why, last_known: None }
    }
}

/// A list at one moment. Snapshots share it; the next commit copies what is still shared.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) exists: bool,
    pub(super) revision: Revision,
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
    pub(super) mark: f64,
    pub(super) journaled: f64,
    pub(super) changed: Option<Timestamp>,
    pub(super) leases: BTreeMap<TaskId, Lease>,
    pub(super) last_token: Token,
}

/// Returns the name a task is kept under, as a file store would name its file.
pub(super) fn key_of(id: &TaskId) -> TaskId {
    TaskId::stored(id.file_stem())
}

/// Returns the number an id counts as when numbers are given out.
pub(super) fn number_of(id: &TaskId) -> f64 {
    parse_int(id.as_str()).unwrap_or(0.0).max(0.0)
}

/// Returns where the task would be if memory were a directory.
pub(super) fn path_of(list: &ListId, id: &TaskId) -> PathBuf {
    PathBuf::from("memory:").join(list.directory()).join(format!("{}.json", id.file_stem()))
}
