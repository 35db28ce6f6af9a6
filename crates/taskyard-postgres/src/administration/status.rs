//! How a database is: the server, its replicas, the tables, who waits for whom, and whether notifications arrive.
//!
//! Nothing is changed, and tables of another version are looked at as far as they can be. What is wrong is judged in `problems.rs`.

use std::time::Duration;

use taskyard::core::Timestamp;
use taskyard::store::StoreError;
use tokio_postgres::Row;

use super::Administration;
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, OWN_NAMES_ONLY, Statement};
use crate::schema::{VERSION, lost_row};

const DOING: &str = "look at the database";

/// How long a lock on the tables is waited for, in milliseconds: whoever looks at a database wants to know who holds it.
const LOCK_TIME: u32 = 2_000;

/// How long a notification that we send ourselves may take.
const NOTIFICATION_TIME: Duration = Duration::from_secs(5);

/// How a database is, as far as the role of the connection may know.
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
    /// How far a standby is behind; `None` for a primary.
    pub own_lag: Option<ReplicaLag>,
    /// The standbys that follow the server; `None` if the role may not see them.
    pub replicas: Option<Vec<Replica>>,
    /// Whether commits wait for a synchronous standby.
    pub waits_for_standby: bool,
    /// The tables; `None` if there are none, or they cannot be looked at now.
    pub tables: Option<TablesStatus>,
    /// Whether another session has locked the tables, so that they cannot be looked at now.
    pub tables_are_locked: bool,
    /// The sessions of this database that wait for a lock.
    pub blocked: Vec<BlockedSession>,
    /// Whether a notification sent through the address arrives there.
    pub notifications_arrive: bool,
    /// How many connections there are.
    pub connections: ConnectionCount,
}

/// A standby that follows the server.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Its application name.
    pub name: String,
    /// What it does: `streaming`, or another word of PostgreSQL.
    pub state: String,
    /// `sync`, `quorum`, `potential` or `async`.
    pub sync: String,
    /// How far it is behind.
    pub lag: ReplicaLag,
}

/// How far a standby is behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplicaLag {
    /// How much of the log it has not applied yet, in bytes; `None` if that is not known.
    pub bytes: Option<i64>,
    /// How old the newest change is that it has applied; `None` if that is not known.
    pub time: Option<Duration>,
}

/// The tables of a yard.
#[derive(Clone, Debug)]
pub struct TablesStatus {
    /// Their version. The rest is unknown if it is another than that of this release.
    pub version: i64,
    /// The epoch, and when it began.
    pub epoch: Option<(String, Timestamp)>,
    /// How many epochs there were, the present one included.
    pub epochs: usize,
    /// How many lists there are that the role may see.
    pub lists: usize,
    /// The tables by name, each with its size and that of its indexes, in bytes.
    pub sizes: Vec<(String, u64)>,
}

/// A session that waits for a lock.
#[derive(Clone, Debug)]
pub struct BlockedSession {
    /// The server process.
    pub pid: i32,
    /// Its application name.
    pub application: String,
    /// How long it has been waiting.
    pub waited: Duration,
    /// The server processes it waits for, with their application names.
    pub by: Vec<(i32, String)>,
}

/// Connections of a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionCount {
    /// Those with our application name, in this database.
    pub of_taskyard: usize,
    /// All of them.
    pub all: usize,
    /// How many the server takes.
    pub limit: usize,
}

impl Administration {
    /// Looks at the database. May take some seconds if notifications do not arrive.
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
        // A standby knows no LISTEN.
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

    /// Reads what the server said of itself.
    fn read(&self, rows: &[Vec<Row>]) -> Result<DatabaseStatus, Failure> {
        let [server, replicas, blocked, ..] = rows else { return Err(Failure::timed_out(ANSWER_TIME)) };
        let row = &server[0];
        let is_standby: bool = row.try_get(3)?;
        let replica = |row: &Row| -> Result<Option<Replica>, Failure> {
            let Some(state) = row.try_get::<_, Option<String>>(1)? else { return Ok(None) };
            Ok(Some(Replica { name: row.try_get(0)?, state, sync: row.try_get(2)?, lag: lag(row, 3)? }))
        };
        // The server tells a role without the right that there are some, and nothing else.
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

/// Returns what asks about the server.
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

/// Reads how far a standby is behind, from two columns.
fn lag(row: &Row, column: usize) -> Result<ReplicaLag, Failure> {
    Ok(ReplicaLag { bytes: row.try_get(column)?, time: time(row, column + 1)? })
}

/// Reads a span of milliseconds. Clocks may differ, so that it is below zero.
fn time(row: &Row, column: usize) -> Result<Option<Duration>, Failure> {
    let milliseconds: Option<i64> = row.try_get(column)?;
    Ok(milliseconds.map(|milliseconds| Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))))
}

fn count(row: &Row, column: usize) -> Result<usize, Failure> {
    Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}
