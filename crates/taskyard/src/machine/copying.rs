//! Copying the machine's database, and taking bindings from a copy.

use std::path::{Path, PathBuf};

use super::schema::MACHINE;
use super::{Machine, MachineError};
use crate::sqlite::{Database, DatabaseError};

/// Copies the database of a data directory into a new private file; tells whether there is one.
pub(crate) fn copy_machine(data: &Path, copy: &Path) -> Result<bool, DatabaseError> {
    match Database::look(data, &MACHINE)? {
        Some(database) => database.copy_to(copy).map(|()| true),
        None => Ok(false),
    }
}

impl Machine {
    /// Binds directories to lists as another machine did, where they are there and bound to none, and gives repositories the lists that they
    /// had. Returns the directories that were bound.
    pub(crate) fn take_bindings(&self, from: &Self) -> Result<Vec<PathBuf>, MachineError> {
        let there = self.bindings()?;
        let mut bound = Vec::new();
        for binding in from.bindings()? {
            let is_bound = there.iter().any(|there| there.directory == binding.directory);
            if !is_bound && binding.directory.is_dir() {
                self.bind(&binding.directory, &binding.list)?;
                bound.push(binding.directory);
            }
        }
        self.take_repositories(from)?;
        Ok(bound)
    }
}
