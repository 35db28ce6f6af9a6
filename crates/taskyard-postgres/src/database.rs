//! Access to a database: reads and changes as transactions of a single round trip where possible.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use taskyard::core::{Moment, Revision, TaskId};
use taskyard::store::StoreError;
use tokio_postgres::Row;

use crate::connecting::failure::{of_kind, sending};
use crate::connecting::{
    ANSWER_TIME, Failure, FailureKind, Held, IDLE_TIME, LOCK_WAIT, OWN_NAMES_ONLY, Pool, STATEMENT_TIME, Session,
    Statement,
};
use crate::heartbeats::Heartbeats;
use crate::listening::Listening;
use crate::one_call::DatabaseNumber;
use crate::schema::{SchemaName, VERSION, lost_row, migrate};
use crate::server_clock::{Lost, NOW, ServerClock, Stamp, TIMELINE};
use crate::settings::Settings;
use crate::versions::{Answers as SeldomChanged, Kind};

/// How many times a transaction is attempted if others conflict with it.
const ATTEMPTS: usize = 8;

/// The open databases of this process.
static OPEN: Mutex<Vec<Weak<Database>>> = Mutex::new(Vec::new());

/// A database, shared by everything in this process that uses it.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) schema: SchemaName,
    pub(crate) clock: ServerClock,
    pub(crate) listening: Arc<Listening>,
    pub(crate) heartbeats: Heartbeats,
    /// Cached answers about data that seldom changes.
    pub(crate) seldom_changed: Arc<SeldomChanged>,
    /// Identifies this database in the calls of a thread.
    pub(crate) number: DatabaseNumber,
    shown: String,
    /// Whether this process has found the tables before.
    has_met_yard: AtomicBool,
    /// Whether a server has begun a write transaction for this process.
    has_written: AtomicBool,
    /// Whether to ask the server for its timeline: it has one, and this role may ask.
    asks_timeline: AtomicBool,
}

/// The rows of each query, and the stamp of the transaction.
pub(crate) type Answers = (Vec<Vec<Row>>, Stamp);

/// The result of querying a database that may have no tables yet.
pub(crate) type Asked = Result<Answers, NotAsked>;

/// Why a query was not answered.
#[derive(Debug)]
pub(crate) enum NotAsked {
    /// The tables do not exist.
    NoYard,
    /// An older release created the tables.
    Older,
    /// A newer release created the tables. Holds their version.
    Newer(i64),
    Failed(Failure),
    /// A preceding step failed.
    Store(StoreError),
}

impl From<Failure> for NotAsked {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Database {
    /// Returns the database at an address; `shown` is the address without its password. All callers in this process
    /// share one instance, and so its connections.
    pub(crate) fn shared(settings: Settings, shown: String) -> Arc<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|database| database.strong_count() > 0);
        let is_it = |database: &Arc<Self>| *database.pool.settings() == settings && database.shown == shown;
        if let Some(database) = open.iter().filter_map(Weak::upgrade).find(is_it) {
            return database;
        }
        let database = Arc::new(Self::new(settings, shown));
        open.push(Arc::downgrade(&database));
        database
    }

    /// Returns a separate instance for one caller. Does not connect yet.
    pub(crate) fn new(settings: Settings, shown: String) -> Self {
        let schema = SchemaName::new(&settings.schema);
        let pool = Arc::new(Pool::new(settings));
        let seldom_changed: Arc<SeldomChanged> = Arc::default();
        let listening = Arc::new(Listening::new(Arc::clone(&pool), &schema));
        let number = DatabaseNumber::new();
        let (clock, heartbeats) = (ServerClock::default(), Heartbeats::default());
        let [has_met_yard, has_written] = [false; 2].map(AtomicBool::new);
        let asks_timeline = AtomicBool::new(true);
        Self {
            pool,
            schema,
            clock,
            listening,
            heartbeats,
            seldom_changed,
            number,
            shown,
            has_met_yard,
            has_written,
            asks_timeline,
        }
    }

    pub(crate) fn asks_timeline(&self) -> bool {
        self.asks_timeline.load(Ordering::Relaxed)
    }

    /// Returns the address without its password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns a statement in which `@` stands for the schema.
    pub(crate) fn statement(&self, sql: &str) -> Statement {
        Statement::new(self.schema.in_sql(sql))
    }

    /// Returns the server's current time.
    pub(crate) fn now(&self) -> Result<Moment, StoreError> {
        if let Some(now) = self.clock.now() {
            return Ok(now);
        }
        // The time can be asked even if the tables do not exist yet.
        let doing = "ask what time it is";
        if self.read(doing, Vec::new)?.is_none() {
            self.ask_time(doing)?;
        }
        Ok(self.clock.now_in_transaction())
    }

    /// Runs queries against one snapshot without waiting for row locks; returns `None` if the tables do not exist.
    /// Upgrades tables of an older release first.
    pub(crate) fn read(
        &self,
        doing: &str,
        questions: impl Fn() -> Vec<Statement>,
    ) -> Result<Option<Vec<Vec<Row>>>, StoreError> {
        Ok(self.read_stamped(doing, questions)?.map(|(rows, _)| rows))
    }

    /// Like [`read`](Self::read), and also returns the stamp of the snapshot. `questions` is called for each attempt.
    pub(crate) fn read_stamped(
        &self,
        doing: &str,
        questions: impl Fn() -> Vec<Statement>,
    ) -> Result<Option<Answers>, StoreError> {
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {OWN_NAMES_ONLY}; SET LOCAL statement_timeout = {}",
            STATEMENT_TIME.as_millis()
        );
        let (along, count) = (self.number.take_along(), Cell::new(0));
        let questions = || {
            let mut all = questions();
            count.set(all.len());
            all.extend(along.iter().flat_map(|along| (along.questions)()));
            all
        };
        let asked = match self.ask_once(&begin, &questions) {
            // A yard with older tables is not empty.
            Err(NotAsked::Older) => {
                self.migrate(doing)?;
                self.ask_once(&begin, &questions)
            }
            asked => asked,
        };
        match asked {
            Ok((mut rows, stamp)) => {
                let asked_along = rows.split_off(count.get());
                if let Some(along) = along {
                    (along.answer)(&asked_along, &stamp);
                }
                Ok(Some((rows, stamp)))
            }
            Err(NotAsked::NoYard) => Ok(None),
            Err(other) => Err(self.error(other, doing)),
        }
    }

    /// Answers a query about data that seldom changes: from memory if this thread is in a call that allows it,
    /// otherwise from the database. Returns `None` if the tables do not exist. The same `question` and `about` must
    /// always have the same statement.
    pub(crate) fn recall<T: Send + Sync + 'static>(
        &self,
        (kind, question): (Kind, &'static str),
        about: &str,
        statement: impl Fn() -> Statement,
        read: impl FnOnce(&[Row]) -> T,
    ) -> Result<Option<Arc<T>>, StoreError> {
        let counts_at = self.number.counts_at(kind, self.seldom_changed.newest(kind));
        let remembered = counts_at.and_then(|version| {
            let answer = self.seldom_changed.find(question, about, &version)?;
            self.number.assume(kind, &version);
            Some(answer)
        });
        if remembered.is_some() {
            return Ok(remembered);
        }
        let Some((rows, stamp)) = self.read_stamped(question, || vec![statement()])? else { return Ok(None) };
        Ok(Some(self.remember((kind, question), about, &stamp, read(&rows[0]))))
    }

    /// Caches the answer to such a query, which was read together with `stamp`.
    pub(crate) fn remember<T: Send + Sync + 'static>(
        &self,
        (kind, question): (Kind, &'static str),
        about: &str,
        stamp: &Stamp,
        answer: T,
    ) -> Arc<T> {
        let answer = Arc::new(answer);
        if let Some(versions) = &stamp.versions {
            self.seldom_changed.keep(question, about.to_owned(), versions.of(kind), Arc::clone(&answer));
        }
        answer
    }

    /// Returns the statement that raises the count of a kind. It must be last in its transaction, except for the
    /// stamp: the row stays locked until the transaction ends.
    pub(crate) fn raise(&self, kind: Kind) -> Statement {
        self.statement("UPDATE @.versions SET version = version + 1 WHERE kind = $1").text(kind.name())
    }

    /// Verifies that what this thread's call answered from memory was true at some moment within the call. Returns
    /// whether it was.
    pub(crate) fn confirm_call(&self) -> Result<bool, StoreError> {
        if self.number.has_assumed() {
            match self.read("look whether anything changed", Vec::new) {
                Err(StoreError::Conflict { .. }) => {}
                read => drop(read?),
            }
        }
        Ok(!self.number.is_outdated())
    }

    /// Reads the server's time if there are no tables yet.
    pub(crate) fn ask_time(&self, doing: &str) -> Result<(), StoreError> {
        let asked = self.pool.persist(|session| {
            let now = Statement::new(format!("SELECT {NOW}"));
            let rows = self.ask_alone(session, now)?;
            self.clock.observe(rows[0].try_get(0)?);
            Ok(())
        });
        asked.map_err(|failure| failure.into_store_error(&self.shown, doing))
    }

    /// Changes something in one transaction of one round trip, creating the tables if they do not exist. The change
    /// must be safe to repeat.
    pub(crate) fn change(
        &self,
        doing: &str,
        statements: impl Fn() -> Vec<Statement>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        Ok(self.change_stamped(doing, statements)?.0)
    }

    /// Like [`change`](Self::change), and also returns the stamp, which is read after the change.
    pub(crate) fn change_stamped(
        &self,
        doing: &str,
        statements: impl Fn() -> Vec<Statement>,
    ) -> Result<Answers, StoreError> {
        if !self.confirm_call()? {
            return Err(outdated());
        }
        let changed = match self.ask_once(&begin_to_write(), &statements) {
            Err(NotAsked::NoYard | NotAsked::Older) => {
                self.migrate(doing)?;
                self.ask_once(&begin_to_write(), &statements)
            }
            changed => changed,
        };
        changed.map_err(|other| self.error(other, doing))
    }

    /// Runs one query in its own transaction, regardless of the tables' version.
    fn ask_alone(&self, session: &mut Session, question: Statement) -> Result<Vec<Row>, Failure> {
        let begin = Statement::script(format!("BEGIN READ ONLY; {OWN_NAMES_ONLY}"));
        let asked = session.ask(&[begin, question, Statement::script("COMMIT")], ANSWER_TIME);
        match asked {
            Ok(mut rows) => Ok(rows.swap_remove(1)),
            Err(failure) => {
                self.roll_back(session);
                Err(failure)
            }
        }
    }

    fn ask_once(&self, begin: &str, statements: &impl Fn() -> Vec<Statement>) -> Asked {
        if self.number.is_outdated() {
            return Err(NotAsked::Store(outdated()));
        }
        let mut not_asked = None;
        let rows = self.pool.persist(|session| {
            let mut all = vec![Statement::script(begin)];
            all.extend(statements());
            all.push(self.stamp());
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

    /// Sends statements and returns the rows of those between the first, which begins the transaction, and the stamp,
    /// which is the one `behind` places before the end.
    fn finish(&self, session: &mut Session, all: &[Statement], behind: usize) -> Asked {
        let mut rows = match session.ask(all, ANSWER_TIME) {
            Ok(rows) => rows,
            Err(failure) => return Err(self.why(session, failure)),
        };
        let place = rows.len() - behind;
        let stamp = Stamp::read(rows[place].first().ok_or_else(lost_row)?)?;
        self.has_met_yard.store(true, Ordering::Relaxed);
        if !self.observe(&stamp) {
            return Err(NotAsked::Store(outdated()));
        }
        rows.truncate(place);
        rows.remove(0);
        Ok((rows, stamp))
    }

    /// Records the stamp. Returns false if it proves this thread's call outdated.
    fn observe(&self, stamp: &Stamp) -> bool {
        self.clock.observe(stamp.now);
        self.seldom_changed.observe(stamp.versions.as_ref());
        self.number.confirm(stamp)
    }

    /// Returns the query for the stamp, the last one of every transaction.
    fn stamp(&self) -> Statement {
        self.statement(&Stamp::question(self.asks_timeline()))
    }

    /// Determines whether a failure means that the tables do not exist, or belong to another release.
    fn why(&self, session: &mut Session, failure: Failure) -> NotAsked {
        match failure.kind() {
            FailureKind::Missing => {}
            FailureKind::ReadOnly => return self.why_read_only(session).into(),
            FailureKind::Wrong if self.tells_no_timeline(session) => {
                return Failure::new(FailureKind::Clash, failure.to_string()).into();
            }
            _ => return failure.into(),
        }
        self.roll_back(session);
        match self.version_in(session) {
            // Most likely the yard is being restored from a backup.
            Ok(None) if self.has_met_yard.load(Ordering::Relaxed) => {
                let said = format!("the tables in schema `{}` are gone", self.schema.plain());
                Failure::new(FailureKind::NotNow, said).into()
            }
            Ok(None) => NotAsked::NoYard,
            Ok(Some(older)) if older < VERSION => NotAsked::Older,
            Ok(Some(newer)) if newer > VERSION => NotAsked::Newer(newer),
            // Another process created the tables in the meantime.
            Ok(Some(_)) => Failure::new(FailureKind::Clash, failure.to_string()).into(),
            Err(failure) => failure.into(),
        }
    }

    /// Returns the version of the tables, or `None` if they do not exist.
    pub(crate) fn version_in(&self, session: &mut Session) -> Result<Option<i64>, Failure> {
        let exists = Statement::new("SELECT to_regclass($1) IS NOT NULL").text(self.schema.in_sql("@.yard"));
        if !self.ask_alone(session, exists)?.first().is_some_and(|row| row.get(0)) {
            return Ok(None);
        }
        let rows = self.ask_alone(session, self.statement("SELECT version FROM @.yard"))?;
        Ok(Some(rows.first().ok_or_else(lost_row)?.try_get(0)?))
    }

    /// Determines why a server is read-only, and whether a retry may help.
    fn why_read_only(&self, session: &mut Session) -> Failure {
        self.roll_back(session);
        let is_standby = match self.ask_alone(session, Statement::new("SELECT pg_is_in_recovery()")) {
            Ok(rows) => rows.first().is_some_and(|row| row.get(0)),
            Err(failure) => return failure,
        };
        match is_standby {
            // It took over from a primary that accepted our changes, and may be promoted.
            true if self.has_written.load(Ordering::Relaxed) => {
                Failure::new(FailureKind::NotNow, "the server is a standby and accepts no changes")
            }
            true => {
                let said = "the server is a standby and accepts no changes; use the primary's address";
                Failure::new(FailureKind::ReadOnly, said)
            }
            false => {
                let said = "the server accepts no changes, because `default_transaction_read_only` is on";
                Failure::new(FailureKind::ReadOnly, said)
            }
        }
    }

    /// Returns whether the failure was caused by asking for the timeline, and stops asking if so. Other databases
    /// that speak PostgreSQL's protocol have no timelines, and an administrator may have revoked the right to ask.
    fn tells_no_timeline(&self, session: &mut Session) -> bool {
        if !self.asks_timeline() {
            return false;
        }
        self.roll_back(session);
        let asked = self.ask_alone(session, Statement::new(format!("SELECT {TIMELINE}")));
        let tells_none = asked.is_err_and(|failure| failure.kind() == FailureKind::Wrong);
        if tells_none {
            self.asks_timeline.store(false, Ordering::Relaxed);
        }
        tells_none
    }

    /// Rolls back a transaction.
    pub(crate) fn roll_back(&self, session: &mut Session) {
        if session.is_usable() {
            let _ = session.ask(&[Statement::script("ROLLBACK")], ANSWER_TIME);
        }
    }

    /// Begins a transaction, sends statements along with it, and keeps it open. `statements` is called for each
    /// attempt, since what this process knows may have changed.
    pub(crate) fn begin(&self, statements: impl Fn() -> Vec<Statement>) -> Result<(Held, Answers), NotAsked> {
        let mut has_begun_epoch = false;
        loop {
            let (mut held, answers) = self.begin_once(&statements)?;
            // Another server took over. Nothing may be written there under its predecessor's epoch.
            if !answers.1.is_outdated || has_begun_epoch {
                return Ok((held, answers));
            }
            self.roll_back(&mut held);
            drop(held);
            self.begin_epoch(&answers.1, None).map_err(NotAsked::Store)?;
            has_begun_epoch = true;
        }
    }

    fn begin_once(&self, statements: &impl Fn() -> Vec<Statement>) -> Result<(Held, Answers), NotAsked> {
        if self.number.is_outdated() {
            return Err(NotAsked::Store(outdated()));
        }
        let mut not_asked = None;
        let begun = self.pool.persist_holding(|mut held| {
            let mut all = vec![Statement::script(begin_to_write())];
            all.extend(statements());
            all.push(self.stamp());
            match self.finish(&mut held, &all, 1) {
                Ok(answers) => {
                    self.has_written.store(true, Ordering::Relaxed);
                    Ok(Some((held, answers)))
                }
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

    /// Begins a new epoch in place of the stamp's, unless another process has done so or the list exists and this
    /// role may no longer see it.
    pub(crate) fn begin_epoch(&self, stamp: &Stamp, lost: Option<&Lost>) -> Result<(), StoreError> {
        let timeline = if self.asks_timeline() { TIMELINE } else { "NULL::bigint" };
        let sql = format!(
            "WITH begun AS (UPDATE @.yard SET epoch = replace(gen_random_uuid()::text, '-', ''), epoch_began = {NOW},
                timeline = {timeline}
                WHERE epoch = $1 AND (NOT @.list_exists($2) OR EXISTS (SELECT FROM @.lists WHERE directory = $2))
                RETURNING epoch, epoch_began, timeline)
            INSERT INTO @.epochs (epoch, began, timeline, list, known, found)
            SELECT epoch, epoch_began, timeline, $2, $3, $4 FROM begun"
        );
        let number = |of: fn(&Lost) -> Revision| lost.map(|lost| of(lost).0.cast_signed());
        tracing::warn!(?lost, "the database went back in time, or another server took over: everything is read anew");
        let begin = || -> Vec<Statement> {
            let begin = self.statement(&sql).text(stamp.epoch.id()).some_text(lost.map(|lost| lost.list.clone()));
            vec![begin.some_number(number(|lost| lost.known)).some_number(number(|lost| lost.found))]
        };
        self.change("begin an epoch", begin).map(drop)
    }

    /// Like [`begin_epoch`](Self::begin_epoch), for a reader: if this role may not write, the next writer begins the
    /// epoch.
    pub(crate) fn try_begin_epoch(&self, stamp: &Stamp, lost: &Lost) {
        // A standby that lags behind has lost nothing.
        if stamp.is_standby {
            return;
        }
        if let Err(error) = self.begin_epoch(stamp, Some(lost)) {
            tracing::warn!(%error, "no new epoch could be begun; the next writer does");
        }
    }

    /// Runs a transaction that depends on current data: `first` queries and locks it, and `then` returns the
    /// statements that change it, if any. `then` may be called several times.
    pub(crate) fn transact<T>(
        &self,
        doing: &str,
        first: impl Fn() -> Vec<Statement>,
        mut then: impl FnMut(&[Vec<Row>]) -> Result<(Vec<Statement>, T), Failure>,
    ) -> Result<T, StoreError> {
        let mut is_migrated = false;
        for attempt in 1.. {
            let (mut held, (rows, _)) = match self.begin(&first) {
                Ok(begun) => begun,
                Err(NotAsked::NoYard | NotAsked::Older) if !is_migrated => {
                    self.migrate(doing)?;
                    is_migrated = true;
                    continue;
                }
                Err(other) => return Err(self.error(other, doing)),
            };
            let done = then(&rows).and_then(|(mut statements, answer)| {
                if statements.is_empty() {
                    held.ask(&[Statement::script("ROLLBACK")], ANSWER_TIME)?;
                    return Ok(answer);
                }
                statements.push(self.stamp());
                statements.push(Statement::script("COMMIT"));
                let rows = held.ask(&statements, ANSWER_TIME)?;
                // The change has been committed, whatever the stamp says. Whether the call was outdated was checked
                // with the first stamp.
                if let Some(Ok(stamp)) = rows[rows.len() - 2].first().map(Stamp::read) {
                    self.observe(&stamp);
                }
                Ok(answer)
            });
            match done {
                Ok(answer) => return Ok(answer),
                // Nothing was committed.
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

    /// Notifies the listeners of a channel that something of a kind has changed. Does not wait for delivery.
    pub(crate) fn tell_of(&self, kind: Kind, channel: &str) {
        self.tell(channel, &of_kind(kind, self.seldom_changed.newest(kind).as_ref()));
    }

    /// Notifies the listeners of a channel. Does not wait for delivery.
    pub(crate) fn tell(&self, channel: &str, payload: &str) {
        let notification = sending(channel, payload);
        let told = self.pool.persist(|session| {
            session.tell(Statement::script(notification.as_str()));
            Ok(())
        });
        if let Err(failure) = told {
            tracing::debug!(%failure, "nobody is told; they look by themselves");
        }
    }

    /// Returns the statements that notify the listeners of a channel that something of a kind has changed, with its
    /// current count.
    pub(crate) fn notification_of(&self, kind: Kind, channel: &str) -> String {
        let version = self.seldom_changed.newest(kind);
        sending(channel, &of_kind(kind, version.as_ref()))
    }

    /// Creates or upgrades the tables and returns the version they had; 0 if they did not exist.
    pub(crate) fn migrate(&self, doing: &str) -> Result<i64, StoreError> {
        let migrated = self.pool.persist(|session| {
            let timeline = self.ask_alone(session, Statement::new(format!("SELECT {TIMELINE}")));
            let timeline = match timeline {
                Ok(rows) => rows[0].try_get(0)?,
                Err(failure) if failure.kind() == FailureKind::Wrong => None,
                Err(failure) => return Err(failure),
            };
            migrate(session, &self.schema, timeline)
        });
        migrated.map_err(|failure| failure.into_store_error(&self.shown, doing))
    }

    /// Describes who holds the lock on a list's row, or returns `None` if that is unknown or the lock has been
    /// released.
    pub(crate) fn holder_of(&self, directory: &str) -> Option<String> {
        // A locked row's `xmax` is the id of the transaction that locked it.
        let sql = "SELECT a.pid, a.application_name FROM @.lists t
            JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = t.xmax AND l.granted
            JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE t.directory = $1";
        let rows = self.read("ask who holds a list", || vec![self.statement(sql).text(directory)]).ok()??;
        let row = rows[0].first()?;
        let (pid, application): (i32, Option<String>) = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        let application = application.filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".to_owned());
        Some(format!("server process {pid} (application {application})"))
    }

    pub(crate) fn error(&self, why: NotAsked, doing: &str) -> StoreError {
        match why {
            NotAsked::Failed(failure) => failure.into_store_error(&self.shown, doing),
            NotAsked::Store(error) => error,
            NotAsked::Newer(format) => StoreError::NewerJournal { path: PathBuf::from(&self.shown), format },
            NotAsked::NoYard | NotAsked::Older => {
                let said = "its tables are gone or belong to an older release";
                Failure::new(FailureKind::Wrong, said).into_store_error(&self.shown, doing)
            }
        }
    }
}

/// The conflict reported if data that a call relied on has changed. Nothing was written, and the caller retries the
/// call.
fn outdated() -> StoreError {
    StoreError::Conflict { task: TaskId::number(0) }
}

/// Returns the script that begins a write transaction. All settings are local to it, since the next transaction on
/// this connection may be another client's.
fn begin_to_write() -> String {
    format!(
        "BEGIN; {OWN_NAMES_ONLY}; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}",
        LOCK_WAIT.as_millis(),
        STATEMENT_TIME.as_millis(),
        IDLE_TIME.as_millis()
    )
}
