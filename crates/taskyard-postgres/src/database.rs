//! A yard's database: asking it, in transactions of one round trip.

use std::path::PathBuf;
use std::sync::Arc;

use taskyard::store::StoreError;
use tokio_postgres::Row;

use crate::connecting::{
    ANSWER_TIME, Failure, FailureKind, Held, IDLE_TIME, LOCK_WAIT, Pool, STATEMENT_TIME, Session, Statement,
};
use crate::listening::Listening;
use crate::schema::{SchemaName, VERSION, migrate};
use crate::server_clock::ServerClock;
use crate::settings::Settings;

/// Asks which version the tables have, and what time it is: the last question of every transaction.
const STAMP: &str = "SELECT version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM @.yard";

/// How often a transaction is begun that other transactions get into the way of.
const ATTEMPTS: usize = 8;

/// A yard's database, which everything that lives there shares.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) schema: SchemaName,
    pub(crate) clock: ServerClock,
    pub(crate) listening: Arc<Listening>,
    shown: String,
}

/// What came of asking a database that may hold no yard yet.
pub(crate) type Asked = Result<Vec<Vec<Row>>, NotAsked>;

/// Why nothing was answered.
#[derive(Debug)]
pub(crate) enum NotAsked {
    /// There are no tables, or those of an older release.
    NoYard,
    /// The tables are those of a newer release.
    Newer(i64),
    /// Something else.
    Failed(Failure),
}

impl From<Failure> for NotAsked {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Database {
    /// Returns the database at an address, which is shown as it says. Nothing is connected yet.
    pub(crate) fn new(settings: Settings, shown: String) -> Self {
        let schema = SchemaName::new(&settings.schema);
        let pool = Arc::new(Pool::new(settings));
        let listening = Arc::new(Listening::new(Arc::clone(&pool), &schema));
        Self { pool, schema, clock: ServerClock::default(), listening, shown }
    }

    /// Returns the address, without a password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns a statement in this schema; `@` stands for that.
    pub(crate) fn statement(&self, sql: &str) -> Statement {
        Statement::new(self.schema.in_sql(sql))
    }

    /// Asks questions at one moment, without waiting for a lock; none where there is no yard yet.
    pub(crate) fn read(
        &self,
        doing: &str,
        questions: impl Fn() -> Vec<Statement>,
    ) -> Result<Option<Vec<Vec<Row>>>, StoreError> {
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}",
            STATEMENT_TIME.as_millis()
        );
        match self.ask_once(&begin, &questions) {
            Ok(rows) => Ok(Some(rows)),
            Err(NotAsked::NoYard) => Ok(None),
            Err(other) => Err(self.error(other, doing)),
        }
    }

    /// Learns what time it is where there is no yard yet.
    pub(crate) fn ask_time(&self, doing: &str) -> Result<(), StoreError> {
        let asked = self.pool.persist(|session| {
            let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
            let rows = session.ask(&[Statement::new(sql)], ANSWER_TIME)?;
            self.clock.observe(rows[0][0].try_get(0)?);
            Ok(())
        });
        asked.map_err(|failure| failure.into_store_error(&self.shown, doing))
    }

    /// Changes something in one transaction that is sent at once, and makes the tables where they are missing. It must be something that
    /// may be done twice.
    pub(crate) fn change(
        &self,
        doing: &str,
        statements: impl Fn() -> Vec<Statement>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let changed = match self.ask_once(&begin_to_write(), &statements) {
            Err(NotAsked::NoYard) => {
                self.migrate(doing)?;
                self.ask_once(&begin_to_write(), &statements)
            }
            changed => changed,
        };
        changed.map_err(|other| self.error(other, doing))
    }

    fn ask_once(&self, begin: &str, statements: &impl Fn() -> Vec<Statement>) -> Asked {
        let mut not_asked = None;
        let rows = self.pool.persist(|session| {
            let mut all = vec![Statement::script(begin)];
            all.extend(statements());
            all.push(self.statement(STAMP));
            all.push(Statement::script("COMMIT"));
            match self.finish(session, &all, 2) {
                Ok(rows) => Ok(Some(rows)),
                Err(NotAsked::Failed(failure)) => {
                    self.roll_back(session);
                    Err(failure)
                }
                Err(other) => {
                    self.roll_back(session);
                    not_asked = Some(other);
                    Ok(None)
                }
            }
        })?;
        rows.ok_or_else(|| not_asked.unwrap_or(NotAsked::NoYard))
    }

    /// Sends statements of which the first begins a transaction and one of the last is the stamp, and returns the rows of those in between.
    fn finish(&self, session: &mut Session, all: &[Statement], behind: usize) -> Asked {
        let mut rows = match session.ask(all, ANSWER_TIME) {
            Ok(rows) => rows,
            Err(failure) => return Err(self.why(session, failure)),
        };
        let stamp = rows.len() - behind;
        self.check_stamp(&rows[stamp])?;
        rows.truncate(stamp);
        rows.remove(0);
        Ok(rows)
    }

    fn check_stamp(&self, rows: &[Row]) -> Result<(), NotAsked> {
        let Some(row) = rows.first() else { return Err(NotAsked::NoYard) };
        let read = |place| row.try_get::<_, i64>(place).map_err(Failure::from);
        match read(0)? {
            VERSION => {
                self.clock.observe(read(1)?);
                Ok(())
            }
            older if older < VERSION => Err(NotAsked::NoYard),
            newer => Err(NotAsked::Newer(newer)),
        }
    }

    /// Finds out what it means that something is not there: no yard yet, or one of a newer release.
    fn why(&self, session: &mut Session, failure: Failure) -> NotAsked {
        if failure.kind() != FailureKind::Missing {
            return failure.into();
        }
        self.roll_back(session);
        let exists = Statement::new("SELECT to_regclass($1) IS NOT NULL").text(self.schema.in_sql("@.yard"));
        match session.ask(&[exists], ANSWER_TIME) {
            Ok(rows) if rows[0].first().is_some_and(|row| row.get(0)) => {}
            Ok(_) => return NotAsked::NoYard,
            Err(failure) => return failure.into(),
        }
        let stamp = session.ask(&[self.statement(STAMP)], ANSWER_TIME);
        match stamp.map_err(NotAsked::from).and_then(|rows| self.check_stamp(&rows[0])) {
            // Another process made the tables in between.
            Ok(()) => Failure::new(FailureKind::Clash, failure.to_string()).into(),
            Err(other) => other,
        }
    }

    /// Ends a transaction that came to nothing.
    pub(crate) fn roll_back(&self, session: &mut Session) {
        if session.is_usable() {
            let _ = session.ask(&[Statement::script("ROLLBACK")], ANSWER_TIME);
        }
    }

    /// Begins a transaction with statements that are sent at once, and keeps it open.
    pub(crate) fn begin(&self, statements: impl Fn() -> Vec<Statement>) -> Result<(Held, Vec<Vec<Row>>), NotAsked> {
        let mut not_asked = None;
        let begun = self.pool.persist_holding(|mut held| {
            let mut all = vec![Statement::script(begin_to_write())];
            all.extend(statements());
            all.push(self.statement(STAMP));
            match self.finish(&mut held, &all, 1) {
                Ok(rows) => Ok(Some((held, rows))),
                Err(other) => {
                    self.roll_back(&mut held);
                    match other {
                        NotAsked::Failed(failure) => Err(failure),
                        other => {
                            not_asked = Some(other);
                            Ok(None)
                        }
                    }
                }
            }
        })?;
        begun.ok_or_else(|| not_asked.unwrap_or(NotAsked::NoYard))
    }

    /// Changes something that depends on what is there: asks first, and then says what is to be done, or nothing. What is asked first locks
    /// what the answer depends on. `then` may be called several times.
    pub(crate) fn transact<T>(
        &self,
        doing: &str,
        first: impl Fn() -> Vec<Statement>,
        mut then: impl FnMut(&[Vec<Row>]) -> Result<(Vec<Statement>, T), Failure>,
    ) -> Result<T, StoreError> {
        let mut is_migrated = false;
        for attempt in 1.. {
            let (mut held, rows) = match self.begin(&first) {
                Ok(begun) => begun,
                Err(NotAsked::NoYard) if !is_migrated => {
                    self.migrate(doing)?;
                    is_migrated = true;
                    continue;
                }
                Err(other) => return Err(self.error(other, doing)),
            };
            let done = then(&rows).and_then(|(mut statements, answer)| {
                let end = if statements.is_empty() { "ROLLBACK" } else { "COMMIT" };
                statements.push(Statement::script(end));
                held.ask(&statements, ANSWER_TIME).map(|_| answer)
            });
            match done {
                Ok(answer) => return Ok(answer),
                // Nothing has happened.
                Err(failure) if failure.kind() != FailureKind::Lost && failure.is_passing() && attempt < ATTEMPTS => {
                    self.roll_back(&mut held);
                }
                Err(failure) => {
                    self.roll_back(&mut held);
                    return Err(failure.into_store_error(&self.shown, doing));
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Tells every listener that something has moved, on a connection of its own.
    pub(crate) fn notify_apart(&self, kind: &str, name: &str) {
        let told = self.pool.persist(|session| {
            self.notify(session, kind, name);
            Ok(())
        });
        if let Err(failure) = told {
            tracing::debug!(%failure, "nobody is told; they look by themselves");
        }
    }

    /// Makes the tables, or brings them to the newest version.
    pub(crate) fn migrate(&self, doing: &str) -> Result<(), StoreError> {
        let migrated = self.pool.persist(|session| migrate(session, &self.schema));
        migrated.map_err(|failure| failure.into_store_error(&self.shown, doing))
    }

    /// Returns the error of a store.
    pub(crate) fn error(&self, why: NotAsked, doing: &str) -> StoreError {
        match why {
            NotAsked::Failed(failure) => failure.into_store_error(&self.shown, doing),
            NotAsked::Newer(format) => StoreError::NewerJournal { path: PathBuf::from(&self.shown), format },
            NotAsked::NoYard => {
                Failure::new(FailureKind::Wrong, "its tables are gone").into_store_error(&self.shown, doing)
            }
        }
    }

    /// Tells every listener that something has moved, without waiting for it. Listeners that do not hear it look by themselves.
    pub(crate) fn notify(&self, session: &mut Session, kind: &str, name: &str) {
        session.tell(Statement::script(self.notification(kind, name)));
    }

    /// Returns what tells every listener. It is a transaction of its own that need not be safe on disk: while it commits, no other
    /// notification in the whole database can.
    pub(crate) fn notification(&self, kind: &str, name: &str) -> String {
        let channel = self.schema.channel(kind, name);
        format!("BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {channel}; COMMIT")
    }
}

/// Returns what begins a transaction that writes. Nothing is set for longer than that: the next one on this connection may be another's.
fn begin_to_write() -> String {
    format!(
        "BEGIN; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}",
        LOCK_WAIT.as_millis(),
        STATEMENT_TIME.as_millis(),
        IDLE_TIME.as_millis()
    )
}
