//! Databases of ours that a newer Taskyard wrote, for commands that only show what is in files.

use std::io;

use taskyard::machine::DatabaseError;

use super::Context;
use crate::output::Output;

impl Context {
    /// Lets the command, which only shows what is in files, do without databases that a newer Taskyard wrote.
    pub(crate) fn do_without_newer(&self) {
        self.newer.are_done_without.set(true);
    }

    /// Returns what was found, or nothing where a newer Taskyard has it and the command does without.
    pub(super) fn without_newer<T, E: AboutDatabase>(&self, found: Result<T, E>) -> Result<Option<T>, E> {
        match found {
            Err(error) if self.newer.are_done_without.get() && error.is_of_newer() => {
                let (message, mut met) = (error.to_string(), self.newer.met.borrow_mut());
                if !met.contains(&message) {
                    met.push(message);
                }
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Tells whether the command has met a database that a newer Taskyard wrote, and does without it.
    pub(super) fn does_without_newer(&self) -> bool {
        !self.newer.met.borrow().is_empty()
    }

    /// Tells on stderr which databases the command did without.
    pub(super) fn warn_of_newer(&self, output: &mut Output) -> io::Result<()> {
        for message in self.newer.met.take() {
            output.warn(&format!("{message}; files are shown without it: use the newer taskyard"))?;
        }
        Ok(())
    }
}

/// An error that may be about a database of ours.
pub(super) trait AboutDatabase: std::fmt::Display {
    /// Tells whether a newer Taskyard wrote the database.
    fn is_of_newer(&self) -> bool;
}

impl AboutDatabase for taskyard::machine::MachineError {
    fn is_of_newer(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::Newer { .. }))
    }
}

impl AboutDatabase for taskyard::teams::TeamError {
    fn is_of_newer(&self) -> bool {
        self.newer_database().is_some()
    }
}
