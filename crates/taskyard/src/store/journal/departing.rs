//! Keeping every process from the journal of a list that moves to another store: every transaction looks at the format of the journal, and
//! this one lets nobody in.

use std::path::Path;

use taskyard_core::Timestamp;

use super::Journal;
use super::damage::judge;
use super::departure_note::withdraw_departure;
use super::entries::Standing;
use super::portable::PortableJournal;
use super::schema::{CAME_BY, DATABASE, FORMAT, MOVED};
use crate::failpoint::reach;
use crate::store::StoreError;

/// Lets processes have the journal of a closed list again, and removes the note.
pub(in crate::store) fn reopen(sidecar: &Path) -> Result<(), StoreError> {
    let mut journal = Journal::connect(sidecar.join(DATABASE))?;
    if journal.database.format("open").map_err(judge)? == MOVED {
        journal.database.batch("write", &format!("PRAGMA user_version = {FORMAT}")).map_err(judge)?;
        journal.sync()?;
    }
    reach("move: the journal is open again");
    withdraw_departure(sidecar)
}

/// Returns the token of the move that brought the list of a sidecar here.
pub(in crate::store) fn arrived_by(sidecar: &Path) -> Result<Option<String>, StoreError> {
    match Journal::open_as_it_is(sidecar)? {
        Some(journal) => journal.fact(CAME_BY),
        None => Ok(None),
    }
}

/// Fails unless a list that comes back has everything in its history that it had when it left.
pub(super) fn must_go_on_from(sidecar: &Path, copy: &Path) -> Result<(), StoreError> {
    let mut left = Journal::open_closed(sidecar)?;
    left.know_where_it_began()?;
    let (newest, coming) = (left.newest()?, PortableJournal::open(copy)?);
    let was = left.moment_of(newest)?.map(Timestamp);
    let goes_on = match coming.time_of(newest)? {
        Some(at) => Some(at) == was,
        None => newest <= coming.marks()?.thinned,
    };
    match goes_on || newest.0 == 0 {
        true => Ok(()),
        false => {
            let why = "another history than this list had when it left is not put in its place";
            Err(StoreError::Failed { doing: format!("take in `{}`", sidecar.display()), source: why.into() })
        }
    }
}

impl Journal {
    /// Keeps every process from the journal, if it stands as it did then. Returns whether it does.
    pub(in crate::store) fn close(&mut self, then: &Standing) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        if !self.stands_as(then)? {
            return Ok(false);
        }
        self.database.batch("write", &format!("PRAGMA user_version = {MOVED}")).map_err(judge)?;
        self.end(transaction)?;
        self.sync()?;
        Ok(true)
    }

    /// Opens the journal of a closed list, to see what the files were.
    pub(in crate::store) fn open_closed(sidecar: &Path) -> Result<Self, StoreError> {
        Self::connect(sidecar.join(DATABASE))
    }
}
