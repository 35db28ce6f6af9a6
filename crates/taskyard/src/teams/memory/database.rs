//! Opening the database.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use crate::private::{has_database, prepare_database};
use crate::teams::TeamError;
use crate::unchanging::open_unchanging;

/// The format of the database.
const FORMAT: i64 = 2;
/// How long we wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE seats (
        team TEXT NOT NULL, member TEXT NOT NULL, agent TEXT NOT NULL,
        pid INTEGER, started INTEGER, boot TEXT, grace INTEGER,
        seen INTEGER NOT NULL, activity TEXT, tool_uses INTEGER NOT NULL DEFAULT 0, tokens INTEGER,
        stop_request TEXT, machine TEXT, pid_space TEXT,
        PRIMARY KEY (team, member)) WITHOUT ROWID;
    CREATE INDEX seats_by_agent ON seats (agent);
    CREATE TABLE plans (
        team TEXT NOT NULL, member TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (team, member)) WITHOUT ROWID;
    CREATE TABLE sent (
        number INTEGER PRIMARY KEY, team TEXT NOT NULL, key TEXT NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL,
        at INTEGER NOT NULL, summary TEXT NOT NULL);
    CREATE INDEX sent_by_sender ON sent (team, sender, number);
    CREATE TABLE deliveries (
        inbox TEXT NOT NULL, key TEXT NOT NULL, delivered INTEGER NOT NULL, acknowledged INTEGER,
        PRIMARY KEY (inbox, key)) WITHOUT ROWID;
";

/// Makes a database of the first format one of the second.
const FROM_FIRST_FORMAT: &str = "
    ALTER TABLE seats ADD COLUMN machine TEXT;
    ALTER TABLE seats ADD COLUMN pid_space TEXT;
";

/// Lets a database of the first format that may not be written be read as if it were of the second.
const FIRST_FORMAT_AS_SECOND: &str = "
    CREATE TEMP VIEW seats AS SELECT *, NULL AS machine, NULL AS pid_space FROM main.seats;
";

/// What we remember of teams, open.
#[derive(Debug)]
pub(in crate::teams) struct Memory {
    pub(super) connection: Connection,
    path: PathBuf,
}

impl Memory {
    /// Opens the database of a data directory to read it; none where there is none.
    pub(in crate::teams) fn look(data: &Path) -> Result<Option<Self>, TeamError> {
        let path = data.join("teams.sqlite");
        if !has_database(data, &path).map_err(TeamError::io("cannot use", path))? {
            return Ok(None);
        }
        match Self::open(data) {
            Err(TeamError::Memory { path, source, .. }) if is_forbidden(&source) => {
                let failed = |source| TeamError::Memory { doing: "open", path: path.clone(), source };
                let connection = open_to_read(&path).map_err(failed)?;
                let memory = Self { connection, path: path.clone() };
                if memory.format()? < FORMAT {
                    memory.connection.execute_batch(FIRST_FORMAT_AS_SECOND).map_err(failed)?;
                }
                Ok(Some(memory))
            }
            opened => opened.map(Some),
        }
    }

    /// Opens the database of a data directory, making both where they are missing.
    pub(in crate::teams) fn open(data: &Path) -> Result<Self, TeamError> {
        let path = data.join("teams.sqlite");
        prepare_database(data, &path).map_err(TeamError::io("cannot use", &path))?;
        let failed = |source| TeamError::Memory { doing: "open", path: path.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // A message acknowledged in the instant before a power loss may be delivered once more; none is lost.
        connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        let mut memory = Self { connection, path: path.clone() };
        if memory.format()? < FORMAT {
            // One at a time: SQLite does not wait for its turn to change the journal mode.
            let alone = File::open(data).map_err(TeamError::io("cannot open", data))?;
            flock(&alone, FlockOperation::LockExclusive)
                .map_err(|error| TeamError::io("cannot lock", data)(error.into()))?;
            memory.create()?;
        }
        Ok(memory)
    }

    fn format(&self) -> Result<i64, TeamError> {
        self.connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(self.failed("open"))
    }

    fn create(&mut self) -> Result<(), TeamError> {
        let failed = |source| TeamError::Memory { doing: "create", path: self.path.clone(), source };
        self.connection.execute_batch("PRAGMA journal_mode = WAL").map_err(failed)?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
        let format: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        if format < FORMAT {
            let change = if format == 0 { TABLES } else { FROM_FIRST_FORMAT };
            transaction.execute_batch(change).map_err(failed)?;
            transaction.execute_batch(&format!("PRAGMA user_version = {FORMAT}")).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Returns a function that wraps an error of SQLite's, for `map_err`.
    pub(super) fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> TeamError + use<> {
        let path = self.path.clone();
        move |source| TeamError::Memory { doing, path: path.clone(), source }
    }
}

/// Opens a database that may not be written: beside those who write it, or, where nobody can, as it is.
fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok(connection)
    });
    match opened {
        Err(error) if is_forbidden(&error) => open_unchanging(path),
        opened => opened,
    }
}

fn is_forbidden(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

#[cfg(test)]
mod tests {
    use taskyard_core::{Holder, ProcessMark, Timestamp};

    use super::{FIRST_FORMAT_AS_SECOND, Memory};
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
        memory.connection.execute_batch(first).unwrap();
        let process = ProcessMark { machine: String::new(), pid_space: String::new(), ..own_mark() };
        let old = SeatRow { holder: Some(Holder::Process(process)), ..seat.clone() };
        // As it is read where it may not be written.
        memory.connection.execute_batch(FIRST_FORMAT_AS_SECOND).unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(old.clone()));
        drop(memory);
        let memory = Memory::look(data.path()).unwrap().unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(old));
        memory.sit(&seat).unwrap();
        assert_eq!(memory.seat("t", "m").unwrap(), Some(seat));
    }
}
