//! Copying our memory of teams, and taking what a copy says of teams that come back.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use super::schema::MEMORY;
use crate::sqlite::{Database, DatabaseError};

/// The tables, each with its columns; the first names the team, or an inbox of it.
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

/// A team that comes back: the folder it was in, and the one it comes to.
#[derive(Clone, Debug)]
pub(crate) struct MovedTeam {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Copies the database of a data directory into a new private file; tells whether there is one.
pub(crate) fn copy_team_memory(data: &Path, copy: &Path) -> Result<bool, DatabaseError> {
    match Database::look(data, &MEMORY)? {
        Some(database) => database.copy_to(copy).map(|()| true),
        None => Ok(false),
    }
}

/// Takes what a copy remembers of teams into the memory of a data directory. What is known there already stays. The copy is in a folder
/// of its own, under its own name, and may be written to.
pub(crate) fn take_team_memory(data: &Path, copy: &Path, teams: &[MovedTeam]) -> Result<(), DatabaseError> {
    let copy = Database::open(copy, &MEMORY)?;
    let memory = Database::open(data, &MEMORY)?;
    memory.transact(|memory| {
        for (table, columns) in TABLES {
            let read = |row: &Row<'_>| (0..columns.len()).map(|place| row.get(place)).collect();
            let rows: Vec<Vec<Value>> =
                copy.rows(&format!("SELECT {} FROM {table} ORDER BY 1, 2", columns.join(", ")), [], read)?;
            let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
            // Not every table has a key: what names the same thing is the same.
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

/// Returns the key of a team, or of something of it, where the team is now; none where it is none of these.
fn moved(key: &Value, teams: &[MovedTeam]) -> Option<String> {
    let Value::Text(key) = key else { return None };
    teams.iter().find_map(|team| {
        let rest = key.strip_prefix(team.from.as_str()).filter(|rest| rest.starts_with('#'))?;
        Some(format!("{}{rest}", team.to))
    })
}
