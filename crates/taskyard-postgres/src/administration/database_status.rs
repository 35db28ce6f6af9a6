//! The state of a database: its server, replicas, tables and waits, and what needs the administrator.

use std::fmt;
use std::time::Duration;

use taskyard::core::Timestamp;
use taskyard::store::StoreError;
use tokio_postgres::Row;

use super::Administration;
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, LOCK_WAIT, OWN_NAMES_ONLY, Statement};
use crate::schema::{VERSION, lost_row};

const DOING: &str = "look at the database";

/// Lock timeout for reading the tables, in milliseconds. Short, so that the caller soon learns who holds the lock.
const LOCK_TIME: u32 = 2_000;

/// How long to wait for a notification sent to ourselves.
const NOTIFICATION_TIME: Duration = Duration::from_secs(5);

/// The state of a database, as far as the connection's role may see it.
#[derive(Clone, Debug)]
pub struct DatabaseStatus {
    /// The version of the server.
    pub server: String,
    /// The role that the connection logged in as.
    pub role: String,
    /// The database.
    pub database: String,
    /// The schema of the tables.
    pub schema: String,
    /// Whether the server is a standby.
    pub is_standby: bool,
    /// How far this standby is behind its primary; `None` for a primary.
    pub own_lag: Option<ReplicaLag>,
    /// The standbys connected to this server; `None` if the role may not see them.
    pub replicas: Option<Vec<Replica>>,
    /// Whether commits wait for a synchronous standby.
    pub waits_for_standby: bool,
    /// The tables; `None` if they do not exist or cannot be read now.
    pub tables: Option<TablesStatus>,
    /// Whether another session holds a lock on the tables, so that they cannot be read.
    pub tables_are_locked: bool,
    /// The sessions of this database that wait for a lock.
    pub blocked: Vec<BlockedSession>,
    /// Whether a notification sent through this address is delivered.
    pub notifications_arrive: bool,
    /// The server's connections, and how many it allows.
    pub connections: ConnectionCount,
}

/// A standby connected to this server.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Its application name.
    pub name: String,
    /// Its state, such as `streaming`, as PostgreSQL names it.
    pub state: String,
    /// `sync`, `quorum`, `potential` or `async`.
    pub sync: String,
    /// How far it is behind.
    pub lag: ReplicaLag,
}

/// How far a standby is behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplicaLag {
    /// Write-ahead log not applied yet, in bytes; `None` if unknown.
    pub bytes: Option<i64>,
    /// Age of the newest change it has applied; `None` if unknown.
    pub time: Option<Duration>,
}

/// The tables of a yard.
#[derive(Clone, Debug)]
pub struct TablesStatus {
    /// The tables' version. If it differs from this release's version, only the sizes are filled in.
    pub version: i64,
    /// The current epoch and when it began.
    pub epoch: Option<(String, Timestamp)>,
    /// The number of epochs, including the current one.
    pub epochs: usize,
    /// The number of lists that the role may see.
    pub lists: usize,
    /// Each table's name and its size including indexes, in bytes, sorted by name.
    pub sizes: Vec<(String, u64)>,
}

/// A session that is waiting for a lock.
#[derive(Clone, Debug)]
pub struct BlockedSession {
    /// The process id of the server process.
    pub pid: i32,
    /// Its application name.
    pub application: String,
    /// How long it has been waiting.
    pub waited: Duration,
    /// The server processes that block it, with their application names.
    pub by: Vec<(i32, String)>,
}

/// The number of connections to the server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionCount {
    /// Connections with our application name to this database.
    pub of_taskyard: usize,
    /// All connections.
    pub all: usize,
    /// The server's `max_connections`.
    pub limit: usize,
}

impl Administration {
    /// Queries the state of the database. May take several seconds if notifications do not arrive.
    pub fn status(&self) -> Result<DatabaseStatus, StoreError> {
        let database = &self.database;
        let failed = |failure: Failure| failure.into_store_error(database.shown(), DOING);
        let (tables, tables_are_locked) = match self.tables() {
            Ok(tables) => (tables, false),
            Err(failure) if failure.kind() == FailureKind::Locked => (None, true),
            Err(failure) => return Err(failed(failure)),
        };
        let rows = self.ask(&server_questions(&database.pool.settings().application)).map_err(failed)?;
        let mut status = self.read(&rows).map_err(failed)?;
        (status.tables, status.tables_are_locked) = (tables, tables_are_locked);
        // A standby does not support LISTEN.
        status.notifications_arrive = !status.is_standby && database.listening.is_heard_within(NOTIFICATION_TIME);
        Ok(status)
    }

    fn ask(&self, questions: &[(&str, Vec<String>)]) -> Result<Vec<Vec<Row>>, Failure> {
        self.database.pool.persist(|session| {
            let mut all = vec![Statement::script(format!(
                "BEGIN READ ONLY; {OWN_NAMES_ONLY}; SET LOCAL lock_timeout = {LOCK_TIME}"
            ))];
            for (sql, texts) in questions {
                let question = self.database.statement(sql);
                all.push(texts.iter().fold(question, |question, text| question.text(text.as_str())));
            }
            all.push(Statement::script("COMMIT"));
            match session.ask(&all, ANSWER_TIME) {
                Ok(mut rows) => {
                    rows.remove(0);
                    Ok(rows)
                }
                Err(failure) => {
                    self.database.roll_back(session);
                    Err(failure)
                }
            }
        })
    }

    fn tables(&self) -> Result<Option<TablesStatus>, Failure> {
        let exists = "SELECT to_regclass($1) IS NOT NULL";
        let rows = self.ask(&[(exists, vec![self.database.schema.in_sql("@.yard")])])?;
        if !rows[0][0].try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let rows = self.ask(&[("SELECT version FROM @.yard", Vec::new())])?;
        let version: i64 = rows[0].first().ok_or_else(lost_row)?.try_get(0)?;
        let sizes = "SELECT relname::text, pg_total_relation_size(oid) FROM pg_class
            WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' ORDER BY 2 DESC, 1";
        let mut questions = vec![(sizes, vec![self.database.schema.in_sql("@")])];
        if version == VERSION {
            let yard = "SELECT epoch, epoch_began, (SELECT count(*) FROM @.epochs),
                (SELECT count(*) FROM @.lists WHERE revision > 0 AND moved IS NULL) FROM @.yard";
            questions.push((yard, Vec::new()));
        }
        let rows = self.ask(&questions)?;
        let size = |row: &Row| -> Result<(String, u64), Failure> {
            Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
        };
        let sizes = rows[0].iter().map(size).collect::<Result<_, _>>()?;
        let mut tables = TablesStatus { version, epoch: None, epochs: 0, lists: 0, sizes };
        if let Some(row) = rows.get(1).and_then(|rows| rows.first()) {
            tables.epoch = Some((row.try_get(0)?, Timestamp(row.try_get(1)?)));
            tables.epochs = count(row, 2)?;
            tables.lists = count(row, 3)?;
        }
        Ok(Some(tables))
    }

    fn read(&self, rows: &[Vec<Row>]) -> Result<DatabaseStatus, Failure> {
        let [server, replicas, blocked, ..] = rows else { return Err(Failure::timed_out(ANSWER_TIME)) };
        let row = &server[0];
        let is_standby: bool = row.try_get(3)?;
        let replica = |row: &Row| -> Result<Option<Replica>, Failure> {
            let Some(state) = row.try_get::<_, Option<String>>(1)? else { return Ok(None) };
            Ok(Some(Replica { name: row.try_get(0)?, state, sync: row.try_get(2)?, lag: lag(row, 3)? }))
        };
        // A role without the privilege learns that standbys exist, but nothing about them.
        let replicas: Option<Vec<Replica>> = replicas.iter().map(replica).collect::<Result<_, _>>()?;
        Ok(DatabaseStatus {
            server: row.try_get(0)?,
            role: row.try_get(1)?,
            database: row.try_get(2)?,
            schema: self.database.schema.plain().to_owned(),
            is_standby,
            own_lag: is_standby.then(|| lag(row, 4)).transpose()?,
            waits_for_standby: row.try_get(6)?,
            connections: ConnectionCount { of_taskyard: count(row, 7)?, all: count(row, 8)?, limit: count(row, 9)? },
            replicas,
            tables: None,
            tables_are_locked: false,
            blocked: blocked_sessions(blocked)?,
            notifications_arrive: false,
        })
    }
}

fn server_questions(application: &str) -> [(&'static str, Vec<String>); 3] {
    let server = "SELECT current_setting('server_version'), session_user::text, current_database()::text,
            pg_is_in_recovery(),
            pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::bigint,
            (extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint,
            current_setting('synchronous_standby_names') <> ''
                AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
            (SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()),
            (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
            current_setting('max_connections')::bigint";
    let replicas = "SELECT application_name, state, sync_state,
            CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint END,
            (extract(epoch FROM replay_lag) * 1000)::bigint
        FROM pg_stat_replication WHERE state IS NULL OR state <> 'backup' ORDER BY 1";
    let blocked = "SELECT a.pid, a.application_name,
            (extract(epoch FROM clock_timestamp()
                - (SELECT min(waitstart) FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted)) * 1000)::bigint,
            b.pid, b.application_name
        FROM pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS blocking (pid)
        JOIN pg_stat_activity b ON b.pid = blocking.pid
        WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' ORDER BY 1, 4";
    [(server, vec![application.to_owned()]), (replicas, Vec::new()), (blocked, Vec::new())]
}

fn blocked_sessions(rows: &[Row]) -> Result<Vec<BlockedSession>, Failure> {
    let mut all: Vec<BlockedSession> = Vec::new();
    for row in rows {
        let pid = row.try_get(0)?;
        if all.last().is_none_or(|last| last.pid != pid) {
            let waited = time(row, 2)?.unwrap_or_default();
            all.push(BlockedSession { pid, application: row.try_get(1)?, waited, by: Vec::new() });
        }
        if let Some(last) = all.last_mut() {
            last.by.push((row.try_get(3)?, row.try_get(4)?));
        }
    }
    Ok(all)
}

fn lag(row: &Row, column: usize) -> Result<ReplicaLag, Failure> {
    Ok(ReplicaLag { bytes: row.try_get(column)?, time: time(row, column + 1)? })
}

/// Reads a duration in milliseconds. A negative value, possible if the clocks differ, becomes zero.
fn time(row: &Row, column: usize) -> Result<Option<Duration>, Failure> {
    let milliseconds: Option<i64> = row.try_get(column)?;
    Ok(milliseconds.map(|milliseconds| Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))))
}

fn count(row: &Row, column: usize) -> Result<usize, Failure> {
    Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}

/// Replication lag beyond which a standby is reported as a problem.
const LONGEST_LAG: Duration = Duration::from_secs(60);
/// Percentage of connections in use beyond which the server is reported as nearly full.
const MOST_CONNECTIONS: usize = 90;

/// A condition of a database that its administrator should resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseProblem {
    /// The schema does not contain Taskyard's tables.
    NoTables,
    /// Another session has locked the tables.
    TablesLocked,
    /// An older release created the tables. Holds their version.
    OlderTables(i64),
    /// A newer release created the tables. Holds their version.
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
    /// A session has waited for a lock for longer than the lock timeout of writers.
    Blocked {
        /// The waiting server process.
        pid: i32,
        /// The server processes that block it.
        by: Vec<i32>,
        /// How long it has waited.
        waited: Duration,
    },
    /// Nearly all connections of the server are in use.
    FewConnections {
        /// Connections in use.
        used: usize,
        /// The server's limit.
        limit: usize,
    },
}

impl DatabaseProblem {
    /// Returns the stable code of this problem.
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
            Self::NoTables => formatter.write_str("there are no tables; `taskyard db init` creates them"),
            Self::TablesLocked => formatter.write_str("another session has locked the tables, perhaps a restore"),
            Self::OlderTables(version) => {
                write!(formatter, "the tables have version {version}; `taskyard db upgrade` brings them to {VERSION}")
            }
            Self::NewerTables(version) => {
                write!(formatter, "the tables have version {version}, but this release supports only {VERSION}")
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
    /// Returns the problems that need the administrator.
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
