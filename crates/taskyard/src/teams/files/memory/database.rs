//! Opening the database.

use std::path::Path;

use super::schema::MEMORY;
use crate::sqlite::Database;
use crate::teams::TeamError;

/// What we remember of teams, open.
#[derive(Debug)]
pub(in crate::teams::files) struct Memory {
    pub(super) database: Database,
}

impl Memory {
    /// Opens the database of a data directory to read it, and to write it where that is possible; none where there is none.
    pub(in crate::teams::files) fn look(data: &Path) -> Result<Option<Self>, TeamError> {
        let opened = match Database::open_existing(data, &MEMORY) {
            Err(error) if error.is_forbidden() => Database::look(data, &MEMORY),
            opened => opened,
        };
        Ok(opened?.map(|database| Self { database }))
    }

    /// Opens the database of a data directory, making both where they are missing.
    pub(in crate::teams::files) fn open(data: &Path) -> Result<Self, TeamError> {
        Ok(Self { database: Database::open(data, &MEMORY)? })
    }

    /// Fails where a newer Taskyard has written the database since it was opened.
    pub(in crate::teams::files) fn must_be_known(&self) -> Result<(), TeamError> {
        Ok(self.database.known_format("read").map(drop)?)
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::{Holder, ProcessMark, Timestamp};

    use super::Memory;
    use crate::liveness::own_mark;
    use crate::teams::SeatRecord;

    #[test]
    fn a_memory_of_the_first_format_is_read_and_made_one_of_the_second() {
        let data = tempfile::tempdir().unwrap();
        let mut memory = Memory::open(data.path()).unwrap();
        let seat = SeatRecord {
            agent: "a".into(),
            holder: Some(Holder::Process(own_mark())),
            seen: Some(Timestamp(1)),
            activity: Some(String::new()),
            ..SeatRecord::default()
        };
        let sit = |memory: &mut Memory| memory.change_seat("t", "m", &mut |row| *row = seat.clone()).unwrap();
        let read = |memory: &Memory| memory.seats("t").unwrap().remove("m").unwrap();
        sit(&mut memory);
        assert_eq!(read(&memory), seat);
        let first =
            "ALTER TABLE seats DROP COLUMN machine; ALTER TABLE seats DROP COLUMN pid_space; PRAGMA user_version = 1";
        memory.database.batch("write", first).unwrap();
        let process = ProcessMark { machine: String::new(), pid_space: String::new(), ..own_mark() };
        let old = SeatRecord { holder: Some(Holder::Process(process)), ..seat.clone() };
        // As it is read where it may not be written.
        memory.database.read_as_of_today(1).unwrap();
        assert_eq!(read(&memory), old);
        drop(memory);
        let mut memory = Memory::look(data.path()).unwrap().unwrap();
        assert_eq!(read(&memory), old);
        sit(&mut memory);
        assert_eq!(read(&memory), seat);
    }
}
