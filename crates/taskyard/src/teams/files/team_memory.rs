//! The database `<data>/teams.sqlite`, which holds what the client's team files do not.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use taskyard_core::rules::teams::membership::PlanState;
use taskyard_core::{Holder, MessageKey, ProcessMark, Timestamp};

use crate::sqlite::{Database, DatabaseError, Schema, Table};
use crate::teams::{Plan, SeatRecord, TeamError};

/// The open database of teams.
#[derive(Debug)]
pub(in crate::teams::files) struct Memory {
    pub(crate) database: Database,
}

impl Memory {
    /// Opens the database of a data directory for reading, and for writing if possible; `None` if it does not exist.
    pub(in crate::teams::files) fn look(data: &Path) -> Result<Option<Self>, TeamError> {
        let opened = match Database::open_existing(data, &MEMORY) {
            Err(error) if error.is_forbidden() => Database::look(data, &MEMORY),
            opened => opened,
        };
        Ok(opened?.map(|database| Self { database }))
    }

    /// Opens the database of a data directory, creating both if they do not exist.
    pub(in crate::teams::files) fn open(data: &Path) -> Result<Self, TeamError> {
        Ok(Self { database: Database::open(data, &MEMORY)? })
    }

    /// Fails if a newer Taskyard has written the database since it was opened.
    pub(in crate::teams::files) fn must_be_known(&self) -> Result<(), TeamError> {
        Ok(self.database.known_format("read").map(drop)?)
    }
}

pub(crate) static MEMORY: Schema = Schema {
    file: "teams.sqlite",
    format: 3,
    tables: &[
        Table {
            name: "seats",
            since: Some(1),
            columns: "
                team TEXT NOT NULL, member TEXT NOT NULL, agent TEXT NOT NULL, pid INTEGER, started INTEGER, boot TEXT,
                grace INTEGER, seen INTEGER NOT NULL, activity TEXT, tool_uses INTEGER NOT NULL DEFAULT 0, tokens INTEGER,
                stop_request TEXT, machine TEXT, pid_space TEXT",
            ending: ", PRIMARY KEY (team, member)) WITHOUT ROWID",
        },
        Table {
            name: "plans",
            since: Some(1),
            columns: "
                team TEXT NOT NULL, member TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL",
            ending: ", PRIMARY KEY (team, member)) WITHOUT ROWID",
        },
        Table {
            name: "sent",
            since: Some(1),
            columns: "
                number INTEGER PRIMARY KEY, team TEXT NOT NULL, key TEXT NOT NULL, sender TEXT NOT NULL,
                recipient TEXT NOT NULL, at INTEGER NOT NULL, summary TEXT NOT NULL",
            ending: ")",
        },
        Table {
            name: "deliveries",
            since: Some(1),
            columns: "inbox TEXT NOT NULL, key TEXT NOT NULL, delivered INTEGER NOT NULL, acknowledged INTEGER",
            ending: ", PRIMARY KEY (inbox, key)) WITHOUT ROWID",
        },
        Table {
            name: "files",
            since: Some(3),
            columns: "directory TEXT PRIMARY KEY, content BLOB NOT NULL",
            ending: ") WITHOUT ROWID",
        },
    ],
    indexes: "
        CREATE INDEX IF NOT EXISTS seats_by_agent ON seats (agent);
        CREATE INDEX IF NOT EXISTS sent_by_sender ON sent (team, sender, number);",
    // After a power loss, a message acknowledged just before may be delivered once more; none is lost.
    settings: "PRAGMA synchronous = NORMAL",
};

/// How long acknowledged messages are remembered, in milliseconds: no agent sends the same message again after that.
const REMEMBERED: i64 = 30 * 24 * 60 * 60 * 1000;

/// Above this number of messages, all deliveries are read at once.
const MANY: usize = 2_000;

/// A sent message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::teams::files) struct SentRow {
    pub(in crate::teams::files) key: String,
    pub(in crate::teams::files) recipient: String,
    pub(in crate::teams::files) at: Timestamp,
    pub(in crate::teams::files) summary: String,
}

impl Memory {
    /// Records a message that has been delivered.
    pub(in crate::teams::files) fn add_sent(&self, team: &str, sender: &str, row: &SentRow) -> Result<(), TeamError> {
        let query = "INSERT INTO sent (team, key, sender, recipient, at, summary) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = (team, &row.key, sender, &row.recipient, row.at.0, &row.summary);
        self.database.execute(query, values)?;
        Ok(())
    }

    /// Returns the newest messages of a member, at most `most`, newest first.
    pub(in crate::teams::files) fn sent(
        &self,
        team: &str,
        sender: &str,
        most: usize,
    ) -> Result<Vec<SentRow>, TeamError> {
        let query = "SELECT key, recipient, at, summary FROM sent WHERE team = ?1 AND sender = ?2 ORDER BY number DESC LIMIT ?3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.database.rows(query, (team, sender, most), |row| {
            Ok(SentRow { key: row.get(0)?, recipient: row.get(1)?, at: Timestamp(row.get(2)?), summary: row.get(3)? })
        });
        Ok(rows?)
    }

    /// Records that messages were shown to their recipient.
    pub(in crate::teams::files) fn deliver(
        &mut self,
        inbox: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        self.for_each(query, inbox, keys, now)
    }

    /// Records that messages were acknowledged by their recipient.
    pub(in crate::teams::files) fn acknowledge(
        &mut self,
        inbox: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered, acknowledged) VALUES (?1, ?2, ?3, ?3)
            ON CONFLICT DO UPDATE SET acknowledged = coalesce(acknowledged, ?3)";
        self.for_each(query, inbox, keys, now)?;
        let query = "DELETE FROM deliveries WHERE inbox = ?1 AND acknowledged < ?2";
        self.database.execute(query, (inbox, long_before(now)))?;
        Ok(())
    }

    /// Deletes acknowledgements from long ago, and messages sent before a moment; returns how many rows were deleted.
    pub(in crate::teams) fn forget_letters(&self, now: Timestamp, sent_before: Timestamp) -> Result<usize, TeamError> {
        let acknowledged =
            self.database.execute("DELETE FROM deliveries WHERE acknowledged < ?1", [long_before(now)])?;
        Ok(acknowledged + self.database.execute("DELETE FROM sent WHERE at < ?1", [sent_before.0])?)
    }

    /// Returns how many rows [`Self::forget_letters`] would delete.
    pub(in crate::teams) fn old_letters(&self, now: Timestamp, sent_before: Timestamp) -> Result<usize, TeamError> {
        let query = "SELECT (SELECT count(*) FROM deliveries WHERE acknowledged < ?1) + (SELECT count(*) FROM sent WHERE at < ?2)";
        let count: i64 = self.database.one(query, [long_before(now), sent_before.0], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Executes a query for several messages, in one transaction.
    fn for_each(&mut self, query: &str, inbox: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError> {
        let written = self.database.transact(|database| {
            for key in keys {
                database.execute(query, (inbox, key.as_text(), now.0))?;
            }
            Ok(())
        });
        Ok(written?)
    }

    /// Returns which of these messages of an inbox are acknowledged.
    pub(in crate::teams::files) fn acknowledged_among(
        &self,
        inbox: &str,
        mut keys: HashSet<MessageKey>,
    ) -> Result<HashSet<MessageKey>, TeamError> {
        if keys.len() > MANY {
            let all = self.deliveries(inbox)?;
            keys.retain(|key| all.get(&key.as_text()) == Some(&true));
            return Ok(keys);
        }
        let mut failed = None;
        keys.retain(|key| {
            failed.is_none() && self.is_acknowledged(inbox, key).map_err(|error| failed = Some(error)) == Ok(true)
        });
        failed.map_or(Ok(keys), Err)
    }

    pub(in crate::teams::files) fn is_acknowledged(&self, inbox: &str, key: &MessageKey) -> Result<bool, TeamError> {
        let query = "SELECT 1 FROM deliveries WHERE inbox = ?1 AND key = ?2 AND acknowledged IS NOT NULL";
        Ok(self.database.row(query, (inbox, key.as_text()), |_| Ok(()))?.is_some())
    }

    /// Returns the messages of an inbox that were shown, and whether each is acknowledged.
    pub(in crate::teams::files) fn deliveries(&self, inbox: &str) -> Result<HashMap<String, bool>, TeamError> {
        let query = "SELECT key, acknowledged IS NOT NULL FROM deliveries WHERE inbox = ?1";
        let rows = self.database.rows(query, [inbox], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.into_iter().collect())
    }
}

/// Returns the moment before which acknowledgements are no longer needed.
fn long_before(now: Timestamp) -> i64 {
    now.0.saturating_sub(REMEMBERED)
}

const SEAT: &str = "SELECT member, agent, pid, started, boot, grace, seen, activity, tool_uses, tokens, stop_request, machine, \
    pid_space FROM seats WHERE team = ?1 AND (?2 IS NULL OR member = ?2)";
const PLAN: &str = "SELECT member, request, state, at FROM plans WHERE team = ?1 AND (?2 IS NULL OR member = ?2)";

impl Memory {
    /// Returns the seat records of a team, keyed by member.
    pub(in crate::teams::files) fn seats(&self, team: &str) -> Result<HashMap<String, SeatRecord>, TeamError> {
        Ok(read(&self.database, team, None)?)
    }

    /// Returns the seats of an agent, as pairs of team and member.
    pub(in crate::teams::files) fn seats_of(&self, agent: &str) -> Result<Vec<(String, String)>, TeamError> {
        let query = "SELECT team, member FROM seats WHERE agent = ?1";
        Ok(self.database.rows(query, [agent], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Changes a seat record, in one transaction.
    pub(in crate::teams::files) fn change_seat(
        &mut self,
        team: &str,
        member: &str,
        change: &mut dyn FnMut(&mut SeatRecord),
    ) -> Result<(), TeamError> {
        let changed = self.database.transact(|database| {
            let before = read(database, team, Some(member))?.remove(member).unwrap_or_default();
            let mut seat = before.clone();
            change(&mut seat);
            if seat == before { Ok(()) } else { write(database, team, member, &seat) }
        });
        Ok(changed?)
    }

    /// Deletes all seats of a team.
    pub(in crate::teams::files) fn forget_seats(&mut self, team: &str) -> Result<(), TeamError> {
        for query in ["DELETE FROM seats WHERE team = ?1", "DELETE FROM plans WHERE team = ?1"] {
            self.database.execute(query, [team])?;
        }
        Ok(())
    }
}

fn read(database: &Database, team: &str, member: Option<&str>) -> Result<HashMap<String, SeatRecord>, DatabaseError> {
    let seats = database.rows(SEAT, (team, member), |row| Ok((row.get(0)?, record(row)?)))?;
    let mut found: HashMap<String, SeatRecord> = seats.into_iter().collect();
    let plans = database.rows(PLAN, (team, member), |row| {
        let state: String = row.get(2)?;
        let plan = Plan { request: row.get(1)?, state: plan_state(&state), at: Timestamp(row.get(3)?) };
        Ok((row.get::<_, String>(0)?, plan))
    })?;
    for (member, plan) in plans {
        found.entry(member).or_default().plan = Some(plan);
    }
    Ok(found)
}

fn write(database: &Database, team: &str, member: &str, seat: &SeatRecord) -> Result<(), DatabaseError> {
    match seat.seen {
        None => database.execute("DELETE FROM seats WHERE team = ?1 AND member = ?2", (team, member))?,
        Some(seen) => {
            let query = "INSERT OR REPLACE INTO seats (team, member, agent, pid, started, boot, grace, seen, activity, tool_uses,
                tokens, stop_request, machine, pid_space) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
            let process = seat.holder.as_ref().map(Holder::process);
            let grace = match &seat.holder {
                Some(Holder::Connection { grace, .. }) => i64::try_from(grace.as_millis()).ok(),
                _ => None,
            };
            let values = rusqlite::params![
                team,
                member,
                seat.agent,
                process.map(|process| process.pid),
                process.and_then(|process| i64::try_from(process.started).ok()),
                process.map(|process| process.boot.as_str()),
                grace,
                seen.0,
                seat.activity,
                i64::try_from(seat.tool_uses).unwrap_or(i64::MAX),
                seat.tokens.and_then(|tokens| i64::try_from(tokens).ok()),
                seat.stop_request,
                process.map(|process| process.machine.as_str()),
                process.map(|process| process.pid_space.as_str()),
            ];
            database.execute(query, values)?
        }
    };
    match &seat.plan {
        None => database.execute("DELETE FROM plans WHERE team = ?1 AND member = ?2", (team, member))?,
        Some(plan) => {
            let query = "INSERT OR REPLACE INTO plans (team, member, request, state, at) VALUES (?1, ?2, ?3, ?4, ?5)";
            database.execute(query, (team, member, &plan.request, plan_word(plan.state), plan.at.0))?
        }
    };
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<SeatRecord> {
    let pid: Option<u32> = row.get(2)?;
    let started: Option<i64> = row.get(3)?;
    let boot: Option<String> = row.get(4)?;
    let grace: Option<i64> = row.get(5)?;
    // Older releases recorded neither.
    let [machine, pid_space] = [row.get::<_, Option<String>>(11)?, row.get(12)?].map(Option::unwrap_or_default);
    let holder = pid.zip(boot).map(|(pid, boot)| {
        let started = started.unwrap_or(0).unsigned_abs();
        let process = ProcessMark { machine, pid_space, boot, pid, started };
        match grace {
            Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace.unsigned_abs()) },
            None => Holder::Process(process),
        }
    });
    Ok(SeatRecord {
        agent: row.get(1)?,
        holder,
        seen: Some(Timestamp(row.get(6)?)),
        activity: row.get(7)?,
        tool_uses: row.get::<_, i64>(8)?.unsigned_abs(),
        tokens: row.get::<_, Option<i64>>(9)?.map(i64::unsigned_abs),
        stop_request: row.get(10)?,
        plan: None,
    })
}

fn plan_word(state: PlanState) -> &'static str {
    match state {
        PlanState::NotShown => "not_shown",
        PlanState::AwaitingApproval => "awaiting_approval",
        PlanState::Rejected => "rejected",
        PlanState::Approved => "approved",
    }
}

fn plan_state(word: &str) -> PlanState {
    match word {
        "awaiting_approval" => PlanState::AwaitingApproval,
        "rejected" => PlanState::Rejected,
        "approved" => PlanState::Approved,
        _ => PlanState::NotShown,
    }
}

impl Memory {
    /// Returns the last recorded contents of the team file in a directory.
    pub(in crate::teams::files) fn last_file(&self, directory: &str) -> Result<Option<Vec<u8>>, TeamError> {
        let query = "SELECT content FROM files WHERE directory = ?1";
        Ok(self.database.row(query, [directory], |row| row.get(0))?)
    }

    /// Records the contents of the team file in a directory.
    pub(in crate::teams::files) fn keep_file(&self, directory: &str, content: &[u8]) -> Result<(), TeamError> {
        let query = "INSERT INTO files (directory, content) VALUES (?1, ?2)
            ON CONFLICT (directory) DO UPDATE SET content = ?2 WHERE content <> ?2";
        self.database.execute(query, (directory, content))?;
        Ok(())
    }

    /// Deletes the recorded contents of the team file in a directory.
    pub(in crate::teams::files) fn forget_file(&self, directory: &str) -> Result<(), TeamError> {
        self.database.execute("DELETE FROM files WHERE directory = ?1", [directory])?;
        Ok(())
    }
}

/// The tables with their columns; the first column is the key of a team or of an inbox.
const TABLES: [(&str, &[&str]); 4] = [
    (
        "seats",
        &[
            "team",
            "member",
            "agent",
            "pid",
            "started",
            "boot",
            "grace",
            "seen",
            "activity",
            "tool_uses",
            "tokens",
            "stop_request",
            "machine",
            "pid_space",
        ],
    ),
    ("plans", &["team", "member", "request", "state", "at"]),
    ("sent", &["team", "key", "sender", "recipient", "at", "summary"]),
    ("deliveries", &["inbox", "key", "delivered", "acknowledged"]),
];

/// A team that is restored: its original directory, and the new one.
#[derive(Clone, Debug)]
pub(crate) struct MovedTeam {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Copies the database of a data directory into a new private file; returns whether there is one.
pub(crate) fn copy_team_memory(data: &Path, copy: &Path) -> Result<bool, DatabaseError> {
    match Database::look(data, &MEMORY)? {
        Some(database) => database.copy_to(copy).map(|()| true),
        None => Ok(false),
    }
}

/// Imports what a copy contains about some teams into the database of a data directory. Existing rows are kept. The
/// copy is in its own directory, under the database's name, and may be written to.
pub(crate) fn take_team_memory(data: &Path, copy: &Path, teams: &[MovedTeam]) -> Result<(), DatabaseError> {
    let copy = Database::open(copy, &MEMORY)?;
    let memory = Database::open(data, &MEMORY)?;
    memory.transact(|memory| {
        for (table, columns) in TABLES {
            let read = |row: &Row<'_>| (0..columns.len()).map(|place| row.get(place)).collect();
            let rows: Vec<Vec<Value>> =
                copy.rows(&format!("SELECT {} FROM {table} ORDER BY 1, 2", columns.join(", ")), [], read)?;
            let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
            // Not every table has a unique key; rows with equal first two columns are the same.
            let insert = format!(
                "INSERT INTO {table} ({}) SELECT {} WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE {} = ?1 AND {} = ?2)",
                columns.join(", "),
                places.join(", "),
                columns[0],
                columns[1],
            );
            for mut row in rows {
                if let Some(key) = row.first().and_then(|key| moved(key, teams)) {
                    row[0] = Value::Text(key);
                    memory.execute(&insert, params_from_iter(row))?;
                }
            }
        }
        Ok(())
    })
}

/// Returns the key of a team or an inbox after the move; `None` if it belongs to none of these teams.
fn moved(key: &Value, teams: &[MovedTeam]) -> Option<String> {
    let Value::Text(key) = key else { return None };
    teams.iter().find_map(|team| {
        let rest = key.strip_prefix(team.from.as_str()).filter(|rest| rest.starts_with('#'))?;
        Some(format!("{}{rest}", team.to))
    })
}

#[cfg(test)]
mod tests {
    use taskyard_core::{Holder, ProcessMark, Timestamp};

    use super::Memory;
    use crate::liveness::own_mark;
    use crate::teams::SeatRecord;

    #[test]
    fn first_format_team_memory_is_upgraded() {
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
        // As it is read if it may not be written.
        memory.database.read_as_of_today(1).unwrap();
        assert_eq!(read(&memory), old);
        drop(memory);
        let mut memory = Memory::look(data.path()).unwrap().unwrap();
        assert_eq!(read(&memory), old);
        sit(&mut memory);
        assert_eq!(read(&memory), seat);
    }
}
