//! The tables of our memory of teams.

use crate::sqlite::{Schema, Table};

/// Our memory of teams.
pub(super) static MEMORY: Schema = Schema {
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
    // A message acknowledged in the instant before a power loss may be delivered once more; none is lost.
    settings: "PRAGMA synchronous = NORMAL",
};
