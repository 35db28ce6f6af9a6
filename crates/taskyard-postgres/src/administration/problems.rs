//! What in a database needs its administrator.

use std::fmt;
use std::time::Duration;

use super::status::{BlockedSession, DatabaseStatus};
use crate::connecting::LOCK_WAIT;
use crate::schema::VERSION;

/// A standby that is further behind than this is a problem.
const LONGEST_LAG: Duration = Duration::from_secs(60);
/// In percent: with more of its connections in use, a server soon refuses new ones.
const MOST_CONNECTIONS: usize = 90;

/// What in a database needs its administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseProblem {
    /// The schema does not contain Taskyard's tables.
    NoTables,
    /// Another session has locked the tables.
    TablesLocked,
    /// The tables are those of an older release.
    OlderTables(i64),
    /// The tables are those of a newer release.
    NewerTables(i64),
    /// Commits wait for a synchronous standby, and none is connected.
    NoSynchronousStandby,
    /// A standby is far behind.
    StandbyLags {
        /// Its application name; empty for the server itself.
        name: String,
        /// How far.
        by: Duration,
    },
    /// A session has been waiting for a lock for longer than writers wait.
    Blocked {
        /// The server process that waits.
        pid: i32,
        /// The server processes it waits for.
        by: Vec<i32>,
        /// How long.
        waited: Duration,
    },
    /// Nearly all connections of the server are in use.
    FewConnections {
        /// How many are in use.
        used: usize,
        /// How many there can be.
        limit: usize,
    },
}

impl DatabaseProblem {
    /// Returns a word that never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTables => "no_tables",
            Self::TablesLocked => "tables_locked",
            Self::OlderTables(_) => "older_tables",
            Self::NewerTables(_) => "newer_tables",
            Self::NoSynchronousStandby => "no_synchronous_standby",
            Self::StandbyLags { .. } => "standby_lags",
            Self::Blocked { .. } => "blocked",
            Self::FewConnections { .. } => "few_connections",
        }
    }
}

impl fmt::Display for DatabaseProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTables => formatter.write_str("there are no tables; `taskyard db init` makes them"),
            Self::TablesLocked => formatter.write_str("another session has locked the tables, as a restore does"),
            Self::OlderTables(version) => {
                write!(formatter, "the tables have version {version}; `taskyard db upgrade` brings them to {VERSION}")
            }
            Self::NewerTables(version) => {
                write!(formatter, "the tables have version {version}, and this release only knows {VERSION}")
            }
            Self::NoSynchronousStandby => {
                formatter.write_str("no synchronous standby is connected: every change waits until one is")
            }
            Self::StandbyLags { name, by } if name.is_empty() => {
                write!(formatter, "this standby is {} s behind", by.as_secs())
            }
            Self::StandbyLags { name, by } => write!(formatter, "standby `{name}` is {} s behind", by.as_secs()),
            Self::Blocked { pid, by, waited } => {
                let by: Vec<String> = by.iter().map(ToString::to_string).collect();
                let (by, waited) = (by.join(", "), waited.as_secs());
                write!(formatter, "server process {pid} has been waiting for {by} for {waited} s")
            }
            Self::FewConnections { used, limit } => {
                write!(formatter, "{used} of {limit} connections are in use; use a pooler or raise `max_connections`")
            }
        }
    }
}

impl DatabaseStatus {
    /// Returns what needs the administrator.
    pub fn problems(&self) -> Vec<DatabaseProblem> {
        let mut all = Vec::new();
        all.extend(match self.tables.as_ref().map(|tables| tables.version) {
            None if self.tables_are_locked => Some(DatabaseProblem::TablesLocked),
            None => Some(DatabaseProblem::NoTables),
            Some(version) if version < VERSION => Some(DatabaseProblem::OlderTables(version)),
            Some(version) if version > VERSION => Some(DatabaseProblem::NewerTables(version)),
            Some(_) => None,
        });
        let replicas = self.replicas.as_deref().unwrap_or_default();
        let is_synchronous = replicas.iter().any(|replica| matches!(replica.sync.as_str(), "sync" | "quorum"));
        if self.waits_for_standby && !self.is_standby && self.replicas.is_some() && !is_synchronous {
            all.push(DatabaseProblem::NoSynchronousStandby);
        }
        let own = self.own_lag.filter(|lag| lag.bytes != Some(0)).map(|lag| (String::new(), lag));
        for (name, lag) in own.into_iter().chain(replicas.iter().map(|replica| (replica.name.clone(), replica.lag))) {
            if let Some(by) = lag.time.filter(|time| *time > LONGEST_LAG) {
                all.push(DatabaseProblem::StandbyLags { name, by });
            }
        }
        let is_long = |session: &&BlockedSession| session.waited > LOCK_WAIT;
        all.extend(self.blocked.iter().filter(is_long).map(|session| DatabaseProblem::Blocked {
            pid: session.pid,
            by: session.by.iter().map(|(pid, _)| *pid).collect(),
            waited: session.waited,
        }));
        let (used, limit) = (self.connections.all, self.connections.limit);
        if used * 100 > limit * MOST_CONNECTIONS {
            all.push(DatabaseProblem::FewConnections { used, limit });
        }
        all
    }
}
