//! Failures of a connection, its timeouts, and its notifications.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::store::{Departure, Occupant, StoreError};
use tokio_postgres::error::SqlState;

use crate::versions::{Kind, Version};

/// Why a request to the server failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    said: Said,
}

/// The message of the server or the operating system. Contains no secret.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
struct Said(String);

const PASSWORDS: &str =
    "give it in the address, in PGPASSWORD or in ~/.pgpass, which only you may be able to read (`chmod 600`)";

/// What a failure means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The server is unreachable or the connection broke. The request may have been executed.
    Lost,
    /// The server temporarily accepts no connections: it is starting up, shutting down, or has too many.
    NotNow,
    /// The server is read-only. Nothing was changed.
    ReadOnly,
    /// Another transaction holds the lock.
    Locked,
    /// The transaction conflicted with another one and was rolled back.
    Clash,
    /// The tables do not exist, or belong to another release.
    Missing,
    /// The list has moved to another store, or is moving. The message is the note of the move.
    Moved,
    /// The server or its address is misconfigured; a retry cannot help.
    Wrong,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, said: impl Into<String>) -> Self {
        Self { kind, said: Said(said.into()) }
    }

    /// Returns the failure of a request that got no answer within `after`.
    pub(crate) fn timed_out(after: Duration) -> Self {
        Self::new(FailureKind::Lost, format!("no answer within {} s", after.as_secs()))
    }

    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Returns whether a retry may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.kind, FailureKind::Lost | FailureKind::NotNow | FailureKind::Clash)
    }

    /// Prefixes the message with what it is about.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { said: Said(format!("{what}: {}", self.said)), ..self }
    }

    /// Converts this into a store error. `store` is the address without its password.
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
                true => Self::new(kind, format!("the server requires a password; {PASSWORDS}")),
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

/// Returns whether an error comes from our side rather than the network or the server, for example a value that
/// cannot be decoded.
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
        // Connection errors, including those of a pooler that lost its server.
        code if code.starts_with("08") => FailureKind::Lost,
        // The connection was terminated by an administrator, a crash or an idle timeout.
        "57P01" | "57P02" | "57P05" | "25P03" | "58000" => FailureKind::Lost,
        // The server is starting up, shutting down, or has too many connections.
        "57P03" | "53300" => FailureKind::NotNow,
        "25006" => FailureKind::ReadOnly,
        "55P03" => FailureKind::Locked,
        // The last is a commit prepared for another epoch or revision.
        "40001" | "40P01" | "23502" => FailureKind::Clash,
        // A missing table, schema or column, or the division by zero with which the stamp aborts on tables of another
        // version.
        "42P01" | "3F000" | "42703" | "22012" => FailureKind::Missing,
        // Another transaction held us up for longer than the timeout.
        "57014" => FailureKind::NotNow,
        _ => FailureKind::Wrong,
    }
}

/// Lock timeout of a writer.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(30);
/// Statement timeout on the server.
pub(crate) const STATEMENT_TIME: Duration = Duration::from_secs(60);
/// How long a transaction may sit idle before the server ends it. Shorter than [`LOCK_WAIT`], so a suspended or
/// disconnected process does not make other writers time out.
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(25);
/// How long to wait for an answer. Longer than the server's own timeout.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(65);

/// Limits function and operator lookup to PostgreSQL's own for this transaction, regardless of the role's or
/// database's search path.
pub(crate) const OWN_NAMES_ONLY: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) channel: String,
    pub(crate) payload: String,
}

/// Returns statements that send a notification in their own transaction, with asynchronous commit: while a
/// transaction that notifies commits, no other one in the database can.
pub(crate) fn sending(channel: &str, payload: &str) -> String {
    sending_all(&[(channel, payload.to_owned())])
}

/// Like [`sending`], for several channels with one payload each.
pub(crate) fn sending_all(told: &[(&str, String)]) -> String {
    let notify = |(channel, payload): &(&str, String)| {
        let payload = payload.replace('\\', "\\\\").replace('\'', "''");
        format!("NOTIFY {channel}, E'{payload}'; ")
    };
    format!("BEGIN; SET LOCAL synchronous_commit = off; {}COMMIT", told.iter().map(notify).collect::<String>())
}

/// Returns the payload that announces a change of a kind, with its new count; the count is null if unknown.
pub(crate) fn of_kind(kind: Kind, version: Option<&Version>) -> String {
    let epoch = version.map(|version| &*version.epoch);
    json!({ "kind": kind.name(), "epoch": epoch, "version": version.map(|version| version.count) }).to_string()
}

/// Parses such a payload; returns `None` for any other payload.
pub(crate) fn read_kind(payload: &str) -> Option<(Kind, Option<Version>)> {
    let value: Value = serde_json::from_str(payload).ok()?;
    let kind = Kind::ALL.into_iter().find(|kind| value["kind"] == kind.name())?;
    let version = value["epoch"].as_str().zip(value["version"].as_i64());
    Some((kind, version.map(|(epoch, count)| Version { epoch: epoch.into(), count })))
}

#[cfg(test)]
mod tests {
    use super::{of_kind, read_kind, sending};
    use crate::versions::{Kind, Version};

    #[test]
    fn a_version_is_read_as_it_was_sent() {
        let version = Version { epoch: "a".into(), count: 7 };
        let sent = of_kind(Kind::Teams, Some(&version));
        assert_eq!(read_kind(&sent), Some((Kind::Teams, Some(version))));
        assert_eq!(read_kind(&of_kind(Kind::Names, None)), Some((Kind::Names, None)));
        assert_eq!(read_kind(""), None);
    }

    #[test]
    fn what_a_newer_release_tells_is_passed_over() {
        assert_eq!(read_kind(r#"{"kind":"other","epoch":"a","version":1}"#), None);
        assert_eq!(read_kind(r#"{"kind":"teams","epoch":"a","version":"1"}"#), Some((Kind::Teams, None)));
    }

    #[test]
    fn quotes_and_backslashes_stay_within_the_literal() {
        assert!(sending("c", r"it's \n").contains(r"NOTIFY c, E'it''s \\n';"));
    }
}
