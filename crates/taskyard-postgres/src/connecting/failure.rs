//! What went wrong between us and the server.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use taskyard::store::{Departure, Occupant, StoreError};
use tokio_postgres::error::SqlState;

use super::limits::LOCK_WAIT;

/// Why something could not be asked of the server, or could not be done there.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    said: Said,
}

/// What the server or the system said, in words that hold no secret.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
struct Said(String);

/// Where passwords come from.
const PASSWORDS: &str = "it is looked for in the address, in PGPASSWORD and in ~/.pgpass, which counts if only you can read it (`chmod 600`)";

/// What a failure means for the caller that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// No server can be reached, or the connection broke: what was sent may have happened.
    Lost,
    /// The server is there and takes nothing just now: it starts, stops, or has too many connections.
    NotNow,
    /// The server takes no changes: nothing has happened.
    ReadOnly,
    /// Another transaction holds what is wanted.
    Locked,
    /// Two transactions got into each other's way, and this one was given up.
    Clash,
    /// The tables are not there, or are those of another release.
    Missing,
    /// The list has moved to another store, or is on its way. What was said is the note of that.
    Moved,
    /// The server, or its address, is another than it must be: nothing helps but to change something.
    Wrong,
}

impl Failure {
    /// Returns a failure with what was said.
    pub(crate) fn new(kind: FailureKind, said: impl Into<String>) -> Self {
        Self { kind, said: Said(said.into()) }
    }

    /// Says that nothing came for so long.
    pub(crate) fn timed_out(after: Duration) -> Self {
        Self::new(FailureKind::Lost, format!("no answer within {} s", after.as_secs()))
    }

    /// Returns what it means.
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Tells whether the same may well succeed a moment later.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.kind, FailureKind::Lost | FailureKind::NotNow | FailureKind::Clash)
    }

    /// Returns the same, said of something.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { said: Said(format!("{what}: {}", self.said)), ..self }
    }

    /// Returns the error of a store. `store` is its address without a password.
    pub(crate) fn into_store_error(self, store: &str, doing: &str) -> StoreError {
        match self.kind {
            FailureKind::Lost | FailureKind::NotNow => {
                StoreError::Unavailable { store: format!("`{store}`"), source: Box::new(self.said) }
            }
            FailureKind::Locked => {
                StoreError::Busy { by: Occupant::Elsewhere { who: "another client".into() }, waited: LOCK_WAIT }
            }
            FailureKind::Moved if let Some(departure) = Departure::parse(&self.said.0) => departure.refusal(),
            FailureKind::Clash
            | FailureKind::Missing
            | FailureKind::Moved
            | FailureKind::ReadOnly
            | FailureKind::Wrong => {
                StoreError::Failed { doing: format!("{doing} at `{store}`"), source: Box::new(self.said) }
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said.fmt(formatter)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else {
            let kind = if is_of_ours(&error) { FailureKind::Wrong } else { FailureKind::Lost };
            let said = with_causes(&error);
            return match said.ends_with("password missing") {
                true => Self::new(kind, format!("the server wants a password; {PASSWORDS}")),
                false => Self::new(kind, said),
            };
        };
        let mut said = format!("{} ({})", database.message(), database.code().code());
        for more in [database.detail(), database.hint()].into_iter().flatten() {
            said = format!("{said}; {more}");
        }
        match database.code().code() {
            "28P01" => said = format!("{said}; {PASSWORDS}"),
            "42501" => {
                said = format!(
                    "{said}; `taskyard db init --role ROLE` or `taskyard grant LIST ROLE work`, run by the owner of the tables, gives a role the rights it needs"
                )
            }
            _ => {}
        }
        Self::new(kind_of(database.code()), said)
    }
}

/// Tells whether an error comes neither from the network nor from the server: a value that cannot be read, say.
fn is_of_ours(error: &tokio_postgres::Error) -> bool {
    let said = error.to_string();
    ["error deserializing", "error serializing", "error encoding", "invalid configuration"]
        .iter()
        .any(|ours| said.starts_with(ours))
}

fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

fn kind_of(state: &SqlState) -> FailureKind {
    match state.code() {
        // Connections; and what a pooler says that has lost its server.
        code if code.starts_with("08") => FailureKind::Lost,
        // An administrator ends connections, the server crashed, a session was idle for too long.
        "57P01" | "57P02" | "57P05" | "25P03" | "58000" => FailureKind::Lost,
        // It starts up or shuts down, or has too many connections.
        "57P03" | "53300" => FailureKind::NotNow,
        "25006" => FailureKind::ReadOnly,
        "55P03" => FailureKind::Locked,
        // The last is a commit that found another epoch or revision than it was made for.
        "40001" | "40P01" | "23502" => FailureKind::Clash,
        // A table, a schema or a column; and a division by zero, by which the stamp ends a transaction on another version.
        "42P01" | "3F000" | "42703" | "22012" => FailureKind::Missing,
        // Another transaction took longer than we wait.
        "57014" => FailureKind::NotNow,
        _ => FailureKind::Wrong,
    }
}
