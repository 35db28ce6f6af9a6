//! The tables of the machine's database.

use crate::sqlite::{Schema, Table};

/// A job, in the tables of those that are there and of those that were tidied away.
const JOB: &str = "
    id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, list TEXT NOT NULL, task TEXT, started INTEGER NOT NULL,
    ended INTEGER, size INTEGER NOT NULL, record TEXT NOT NULL";

/// The machine's database. Before it had formats, each release made the tables that it missed.
pub(super) static MACHINE: Schema = Schema {
    file: "machine.sqlite",
    format: 1,
    tables: &[
        table("bindings", "directory BLOB NOT NULL PRIMARY KEY, list TEXT NOT NULL"),
        table("trusted", "directory BLOB NOT NULL PRIMARY KEY"),
        table("setups", "file BLOB NOT NULL PRIMARY KEY, record TEXT NOT NULL"),
        table("jobs", JOB),
        table("reopenings", "job TEXT NOT NULL PRIMARY KEY"),
        table("tidied_jobs", JOB),
        table(
            "notices",
            "job TEXT NOT NULL PRIMARY KEY, agent TEXT NOT NULL, list TEXT NOT NULL, queued_at INTEGER NOT NULL,
             delivered_at INTEGER, acknowledged_at INTEGER",
        ),
    ],
    indexes: "
        CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
        CREATE INDEX IF NOT EXISTS jobs_by_task ON jobs (list, task);
        CREATE INDEX IF NOT EXISTS jobs_by_size ON jobs (size);",
    settings: "",
};

const fn table(name: &'static str, columns: &'static str) -> Table {
    Table { name, since: Some(1), columns, ending: ") WITHOUT ROWID" }
}
