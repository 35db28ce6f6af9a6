//! What a list holds at one moment.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::rules::numbering::counted;
use taskyard_core::{Image, Lease, Revision, Task, TaskId, Timestamp, Token};

use crate::store::{Lookup, Problem};

/// One task as it is kept: its image, and what can be read from it.
#[derive(Debug)]
pub(in crate::store) struct Kept {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) image: Image,
    pub(in crate::store) task: Result<Task, Unreadable>,
}

impl Kept {
    pub(in crate::store) fn new(id: TaskId, image: Image) -> Arc<Self> {
        let task = image.task(&id);
        Arc::new(Self { id, image, task })
    }

    pub(in crate::store) fn lookup(&self, home: &Home) -> Lookup {
        match &self.task {
            Ok(task) => Lookup::Found(Box::new(task.clone()), self.image.clone()),
            Err(why) => Lookup::Unreadable(self.problem(home, why.clone())),
        }
    }

    /// Returns the contents, where no task can be read from them and they are what is kept, not a translation.
    pub(in crate::store) fn broken(&self, home: &Home) -> Option<Image> {
        (self.task.is_err() && matches!(home, Home::Memory(_))).then(|| self.image.clone())
    }

    pub(in crate::store) fn as_problem(&self, home: &Home) -> Option<Problem> {
        self.task.as_ref().err().map(|why| self.problem(home, why.clone()))
    }

    fn problem(&self, home: &Home, why: Unreadable) -> Problem {
        Problem { task: self.id.clone(), path: home.path_of(&self.id), why, last_known: None }
    }
}

/// Where the tasks of a list are.
#[derive(Clone, Debug)]
pub(in crate::store) enum Home {
    /// In memory, as if each were in a file of its own.
    Memory(PathBuf),
    /// Each in a file of its own.
    Folder(PathBuf),
    /// All in one file.
    File(PathBuf),
}

impl Home {
    /// Returns where a task is.
    pub(in crate::store) fn path_of(&self, id: &TaskId) -> PathBuf {
        match self {
            Self::Memory(path) | Self::Folder(path) => path.join(format!("{}.json", id.file_stem())),
            Self::File(path) => path.clone(),
        }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::Memory("memory:".into())
    }
}

/// A list at one moment. Snapshots share it; the next commit copies what is still shared.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct State {
    pub(in crate::store) home: Home,
    /// Whether a task waits also for tasks that do not exist.
    pub(in crate::store) counts_missing: bool,
    pub(in crate::store) exists: bool,
    pub(in crate::store) revision: Revision,
    pub(in crate::store) tasks: BTreeMap<TaskId, Arc<Kept>>,
    /// Where each task stands among the others, where the files have an order of their own.
    pub(in crate::store) places: HashMap<TaskId, usize>,
    pub(in crate::store) mark: f64,
    pub(in crate::store) journaled: f64,
    pub(in crate::store) changed: Option<Timestamp>,
    pub(in crate::store) leases: BTreeMap<TaskId, Lease>,
    pub(in crate::store) last_token: Token,
}

impl State {
    /// Returns where a task stands among the others, before its id is asked; what is new comes last.
    pub(in crate::store) fn place_of(&self, id: &TaskId) -> usize {
        self.places.get(id).copied().unwrap_or(usize::MAX)
    }

    /// Returns the name a task is kept under: its own where there is one of that name, else the one that a file of it would have.
    pub(in crate::store) fn name_of(&self, id: &TaskId) -> TaskId {
        if self.tasks.contains_key(id) { id.clone() } else { key_of(id) }
    }
}

/// Returns the name a task is kept under, as a file store would name its file.
pub(in crate::store) fn key_of(id: &TaskId) -> TaskId {
    TaskId::stored(id.file_stem())
}

/// Returns the number an id counts as when numbers are given out.
pub(in crate::store) fn number_of(id: &TaskId) -> f64 {
    counted(id.as_str()).unwrap_or(0.0)
}
