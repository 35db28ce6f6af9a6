//! What a look at a list finds: one task, or the list as a process keeps it in memory.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::live::LiveList;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Image, Revision, Task, TaskId};

/// What stands under a task's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The task, and the exact form it is kept in.
    Found(Box<Task>, Image),
    /// Nothing.
    Missing,
    /// Something that is no task.
    Unreadable(UnreadableTask),
}

impl Lookup {
    /// Returns the task, where there is one.
    pub fn task(self) -> Option<Task> {
        match self {
            Self::Found(task, _) => Some(*task),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// Something among the tasks of a list that no task can be read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableTask {
    /// The name it stands under.
    pub task: TaskId,
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: Unreadable,
    /// The last state we knew, shown in its place where there is one.
    pub last_known: Option<Box<Task>>,
    /// Its exact contents, where it was looked up by its name and they can be had.
    pub contents: Option<Image>,
}

impl UnreadableTask {
    /// Returns the name of the file, and of the task in it if the file has several.
    pub fn file(&self) -> String {
        let name = self.path.file_name().map_or_else(|| self.path.to_string_lossy(), |name| name.to_string_lossy());
        match self.path.file_stem().is_some_and(|stem| stem.to_string_lossy() == self.task.file_stem()) {
            true => name.into_owned(),
            false => format!("{name} (task {})", self.task),
        }
    }

    /// Returns what the client writes to its log when it meets such a file.
    pub fn log_line(&self) -> String {
        let Self { task, why, .. } = self;
        match why.is_of_schema() {
            true => format!("[Tasks] Task {task} failed schema validation: {why}"),
            false => format!("[Tasks] Failed to read task {task}: {why}"),
        }
    }

    /// Returns the refusal of a change that this stands in the way of.
    pub(crate) fn into_refusal(self) -> Refusal {
        Refusal::Unreadable { task: self.task, path: self.path, why: self.why }
    }
}

/// A list in memory as it is now. While it is held the list stands still, so it is asked and let go.
pub struct LiveView<'a> {
    list: Box<dyn Deref<Target = LiveList> + 'a>,
    revision: Revision,
}

impl<'a> LiveView<'a> {
    /// Shows a list that is at this revision.
    pub fn new(list: impl Deref<Target = LiveList> + 'a, revision: Revision) -> Self {
        Self { list: Box::new(list), revision }
    }

    /// Returns the newest revision it shows.
    pub const fn revision(&self) -> Revision {
        self.revision
    }
}

impl Deref for LiveView<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        &self.list
    }
}

impl fmt::Debug for LiveView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.list.len();
        formatter.debug_struct("LiveView").field("revision", &self.revision).field("tasks", &tasks).finish()
    }
}
