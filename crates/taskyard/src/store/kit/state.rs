//! What a list holds at one moment, and a list as it was when a reader looked.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::rules::changes::numbering::counted;
use taskyard_core::{Entry, Image, Lease, ListId, Revision, Status, Task, TaskId, Timestamp, Token};

use crate::store::{ListInfo, Lookup, Snapshot, StoreError, UnreadableTask};

/// One task as it is kept.
#[derive(Debug)]
pub struct Kept {
    /// The name it stands under.
    pub id: TaskId,
    /// Its exact form.
    pub image: Image,
    /// The task that is read from the image, or why none can be.
    pub task: Result<Task, Unreadable>,
}

impl Kept {
    /// Reads a task from its image.
    pub fn new(id: TaskId, image: Image) -> Arc<Self> {
        let task = image.task(&id);
        Arc::new(Self { id, image, task })
    }

    /// Returns what stands here, as a caller that looks it up learns of it.
    pub(crate) fn lookup(&self, home: &Home) -> Lookup {
        match &self.task {
            Ok(task) => Lookup::Found(Box::new(task.clone()), self.image.clone()),
            Err(why) => Lookup::Unreadable(self.problem(home, why.clone())),
        }
    }

    /// Returns what is wrong with it, where no task can be read from it.
    pub(crate) fn as_problem(&self, home: &Home) -> Option<UnreadableTask> {
        self.task.as_ref().err().map(|why| self.problem(home, why.clone()))
    }

    fn problem(&self, home: &Home, why: Unreadable) -> UnreadableTask {
        let contents = matches!(home, Home::Images(_)).then(|| self.image.clone());
        UnreadableTask { task: self.id.clone(), path: home.path_of(&self.id), why, last_known: None, contents }
    }
}

/// Where the tasks of a list are.
#[derive(Clone, Debug)]
pub enum Home {
    /// In a place that keeps images, each under the name of the file it would be in.
    Images(PathBuf),
    /// In files of another dialect, each in one of its own.
    Folder(PathBuf),
    /// All in one file of another dialect.
    File(PathBuf),
}

impl Home {
    /// Returns where a task is.
    pub(crate) fn path_of(&self, id: &TaskId) -> PathBuf {
        match self {
            Self::Images(path) | Self::Folder(path) => path.join(format!("{}.json", id.file_stem())),
            Self::File(path) => path.clone(),
        }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::Images(PathBuf::new())
    }
}

/// A list at one moment. Snapshots share it; the next commit copies what is still shared.
#[derive(Clone, Debug, Default)]
pub struct ListState {
    /// Where the tasks are.
    pub home: Home,
    /// Whether a task waits also for tasks that do not exist.
    pub counts_missing: bool,
    /// Whether there is such a list.
    pub exists: bool,
    /// The newest commit that is in here.
    pub revision: Revision,
    /// Everything that is kept, by the name it stands under.
    pub tasks: BTreeMap<TaskId, Arc<Kept>>,
    /// Where each task stands among the others, where the files have an order of their own.
    pub places: HashMap<TaskId, usize>,
    /// The highest number that was ever removed.
    pub mark: f64,
    /// The highest number that the journal ever saw.
    pub journaled: f64,
    /// When the last commit happened.
    pub changed: Option<Timestamp>,
    /// Every lease, by its task.
    pub leases: BTreeMap<TaskId, Lease>,
    /// The last token that was given out.
    pub last_token: Token,
}

impl ListState {
    /// Moves one task on by one entry of the journal.
    pub(crate) fn follow(&mut self, entry: &Entry) {
        self.put(&entry.task, entry.after.as_ref().map(|image| Kept::new(entry.task.clone(), image.clone())));
    }

    /// Returns what there is to say of the list, in a store without places.
    pub fn info(&self, list: &ListId) -> ListInfo {
        ListInfo { list: list.clone(), path: None, counts: self.counts(), changed: self.changed }
    }

    /// Tells how many tasks there are in each state: pending, in progress, completed. Internal ones are not counted.
    pub(crate) fn counts(&self) -> [usize; Status::ALL.len()] {
        let mut counts = [0; Status::ALL.len()];
        let tasks = self.tasks.values().filter_map(|kept| kept.task.as_ref().ok());
        for task in tasks.filter(|task| !task.is_internal()) {
            counts[task.status as usize] += 1;
        }
        counts
    }

    pub(super) fn put(&mut self, task: &TaskId, after: Option<Arc<Kept>>) {
        match after {
            Some(kept) => drop(self.tasks.insert(task.clone(), kept)),
            None => drop(self.tasks.remove(task)),
        }
    }

    /// Returns where a task stands among the others, before its id is asked; what is new comes last.
    pub(crate) fn place_of(&self, id: &TaskId) -> usize {
        self.places.get(id).copied().unwrap_or(usize::MAX)
    }

    /// Returns the name a task is kept under: its own where there is one of that name, else the one that a file of it would have.
    pub(crate) fn name_of(&self, id: &TaskId) -> TaskId {
        if self.tasks.contains_key(id) { id.clone() } else { key_of(id) }
    }
}

/// Returns the name a task is kept under, as a file store would name its file.
pub fn key_of(id: &TaskId) -> TaskId {
    TaskId::stored(id.file_stem())
}

/// Returns the number an id counts as when numbers are given out.
pub fn number_of(id: &TaskId) -> f64 {
    counted(id.as_str()).unwrap_or(0.0)
}

/// A list at one moment, all of it read.
#[derive(Debug)]
pub struct StateSnapshot {
    /// The list as it was.
    pub state: Arc<ListState>,
}

impl Snapshot for StateSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.state.exists)
    }

    fn revision(&self) -> Revision {
        self.state.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.state.tasks.get(&self.state.name_of(id)).map_or(Lookup::Missing, |kept| kept.lookup(&self.state.home)))
    }

    fn counts_missing(&self) -> bool {
        self.state.counts_missing
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        let mut tasks: Vec<Task> =
            self.state.tasks.values().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect();
        if !self.state.places.is_empty() {
            tasks.sort_by_key(|task| self.state.place_of(&task.id));
        }
        Ok(tasks)
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.state.leases.values().cloned().collect())
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.as_problem(&self.state.home)).collect())
    }
}
