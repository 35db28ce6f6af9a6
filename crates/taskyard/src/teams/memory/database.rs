//! Opening the database.

use std::path::Path;

use super::schema::MEMORY;
use crate::sqlite::{Database, DatabaseError};
use crate::teams::TeamError;

/// What we remember of teams, open.
#[derive(Debug)]
pub(in crate::teams) struct Memory {
    pub(super) database: Database,
}

impl Memory {
    /// Opens the database of a data directory to read it, and to write it where that is possible; none where there is none.
    pub(in crate::teams) fn look(data: &Path) -> Result<Option<Self>, TeamError> {
        let opened = match Database::open_existing(data, &MEMORY) {
            Err(error) if error.is_forbidden() => Database::look(data, &MEMORY),
            opened => opened,
        };
        Ok(opened?.map(|database| Self { database }))
    }

    /// Opens the database of a data directory, making both where they are missing.
    pub(in crate::teams) fn open(data: &Path) -> Result<Self, TeamError> {
        Ok(Self { database: Database::open(data, &MEMORY)? })
    }
}

impl From<DatabaseError> for TeamError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Io { doing, path, source } => Self::io(doing, path)(source),
            error => Self::Memory(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::{Holder, ProcessMark, Timestamp};

    use super::Memory;
    use crate::liveness::own_mark;
    use crate::teams::memory::SeatRow;

    #[test]
    fn a_memory_of_the_first_format_is_read_and_made_one_of_the_second() {
        let data = tempfile::tempdir().unwrap();
        let memory = Memory::open(data.path()).unwrap();
        let seat = SeatRow {
            team: "t".into(),
            member: "m".into(),
            agent: "a".into(),
            holder: Some(Holder::Process(own_mark())),
            seen: Timestamp(1),
            activity: Some(String::new()),
            tool_uses: 0,
            tokens: None,
            stop_request: None,
        };
        memory.sit(&seat).unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(seat.clone()));
        let first =
            "ALTER TABLE seats DROP COLUMN machine; ALTER TABLE seats DROP COLUMN pid_space; PRAGMA user_version = 1";
        memory.database.batch("write", first).unwrap();
        let process = ProcessMark { machine: String::new(), pid_space: String::new(), ..own_mark() };
        let old = SeatRow { holder: Some(Holder::Process(process)), ..seat.clone() };
        // As it is read where it may not be written.
        memory.database.read_as_of_today(1).unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(old.clone()));
        drop(memory);
        let memory = Memory::look(data.path()).unwrap().unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(old));
        memory.sit(&seat).unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(seat));
    }
}
