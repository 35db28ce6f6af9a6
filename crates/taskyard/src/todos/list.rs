//! The todo list of one agent.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::Todo;
use taskyard_core::rules::todos::kept;

use super::error::TodoError;
use super::file;

/// The todo list of one agent. Calls on it happen one after the other.
#[derive(Debug)]
pub struct TodoList {
    keeping: Mutex<Keeping>,
}

/// Where a list is kept.
#[derive(Debug)]
enum Keeping {
    /// For as long as the process runs.
    Memory(Vec<Todo>),
    /// In a file, which other processes of the same agent may write, too.
    File(PathBuf),
}

/// What a replacement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The list before.
    pub before: Vec<Todo>,
    /// The list as it is now: empty where everything that was given is completed.
    pub after: Vec<Todo>,
}

impl TodoList {
    /// Returns an empty list that lives as long as the process.
    pub fn in_memory() -> Self {
        Self { keeping: Mutex::new(Keeping::Memory(Vec::new())) }
    }

    /// Returns the list that a file holds.
    pub fn in_file(path: PathBuf) -> Self {
        Self { keeping: Mutex::new(Keeping::File(path)) }
    }

    /// Returns the list.
    pub fn read(&self) -> Result<Vec<Todo>, TodoError> {
        self.keeping().read()
    }

    /// Replaces the list.
    pub fn replace(&self, given: &[Todo]) -> Result<Replaced, TodoError> {
        let mut keeping = self.keeping();
        let before = keeping.read()?;
        let after = kept(given).to_vec();
        match &mut *keeping {
            Keeping::Memory(list) => list.clone_from(&after),
            Keeping::File(path) => file::write(path, &after)?,
        }
        Ok(Replaced { before, after })
    }

    /// Makes the file of an empty list where there is none, as 2.1.34 does when it starts.
    pub fn begin(&self) -> Result<(), TodoError> {
        match &*self.keeping() {
            Keeping::File(path) if !path.exists() => file::write(path, &[]),
            Keeping::File(_) | Keeping::Memory(_) => Ok(()),
        }
    }

    /// A call that panicked has changed nothing or everything, so what it left can be used.
    fn keeping(&self) -> MutexGuard<'_, Keeping> {
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeping {
    fn read(&self) -> Result<Vec<Todo>, TodoError> {
        match self {
            Self::Memory(list) => Ok(list.clone()),
            Self::File(path) => file::read(path),
        }
    }
}
