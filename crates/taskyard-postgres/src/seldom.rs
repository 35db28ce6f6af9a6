//! Following data that seldom changes, and polling for all followers of a process at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use taskyard::core::{LEAD, Revision};
use taskyard::store::{Moved, StoreError};
use tokio_postgres::Row;

use crate::connecting::failure::read_kind;
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::listening::{Follower, Following, ListHead, Poll, Polled};
use crate::server_clock::Stamp;
use crate::versions::{Kind, Version};

const DOING: &str = "look whether anything changed";

/// The key of the cached answer: all teams.
pub(crate) const TEAMS: (Kind, &str) = (Kind::Teams, "read which teams there are");
/// The key of the cached answer: whether any team's lead has mail.
pub(crate) const LEAD_MAIL: (Kind, &str) = (Kind::Messages, "look for mail");

/// Calls `moved` whenever something of a kind may have changed.
pub(crate) struct SeldomFollower {
    database: Weak<Database>,
    kind: Kind,
    moved: Moved,
    /// The count as of the last call of `moved`.
    told: Mutex<Option<Version>>,
}

impl SeldomFollower {
    /// Starts following a kind on a channel.
    pub(crate) fn follow(database: &Arc<Database>, kind: Kind, channel: &str, moved: Moved) -> Following {
        let told = Mutex::new(database.seldom_changed.newest(kind));
        let follower = Self { database: Arc::downgrade(database), kind, moved, told };
        let asks: Weak<dyn Poll> = Arc::downgrade(database) as Weak<dyn Poll>;
        database.listening.follow(channel, Arc::new(follower), asks)
    }

    fn told(&self) -> MutexGuard<'_, Option<Version>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower for SeldomFollower {
    fn hear(&self, payload: &str) {
        if let Some(database) = self.database.upgrade() {
            match read_kind(payload) {
                Some((kind, version)) => database.seldom_changed.hear(kind, version.as_ref()),
                None => database.seldom_changed.hear(self.kind, None),
            }
            *self.told() = database.seldom_changed.newest(self.kind);
        }
        (self.moved)();
    }

    fn list(&self) -> Option<i64> {
        None
    }

    fn compare(&self, polled: &Polled) -> bool {
        let now = polled.versions.as_ref().map(|versions| versions.of(self.kind));
        let before = std::mem::replace(&mut *self.told(), now.clone());
        let has_changed = before != now || now.is_none();
        if has_changed {
            (self.moved)();
        }
        has_changed && before.is_some() && now.is_some()
    }
}

impl Database {
    /// Returns the query for [`TEAMS`].
    pub(crate) fn all_teams(&self) -> Statement {
        self.statement("SELECT directory, body FROM @.teams ORDER BY directory")
    }

    /// Returns the query for [`LEAD_MAIL`].
    pub(crate) fn lead_mail(&self) -> Statement {
        let sql = "SELECT 1 FROM @.teams t JOIN @.messages m ON m.team = t.directory AND m.made = t.made
            WHERE m.member = $1 AND m.acknowledged_at IS NULL LIMIT 1";
        self.statement(sql).text(LEAD)
    }

    /// Returns the query for the extents of the lists that this process's followers follow.
    pub(crate) fn poll_question(&self, lists: Vec<i64>) -> Statement {
        let sql = "SELECT l.id, l.revision, l.head, c.version, l.moved IS NOT NULL
            FROM @.lists l LEFT JOIN @.lease_clocks c ON c.list = l.id WHERE l.id = ANY($1)";
        self.statement(sql).numbers(lists)
    }

    /// Reads the result.
    pub(crate) fn polled(rows: &[Row], stamp: &Stamp) -> Result<Polled, Failure> {
        let head = |row: &Row| {
            let attempt: Option<&str> = row.try_get(2)?;
            let head = ListHead {
                revision: Revision(row.try_get::<_, i64>(1)?.unsigned_abs()),
                attempt: attempt.and_then(|attempt| attempt.parse().ok()),
                lease_version: row.try_get::<_, Option<i64>>(3)?.unwrap_or(0),
                has_moved: row.try_get(4)?,
            };
            Ok((row.try_get(0)?, head))
        };
        let lists = rows.iter().map(head).collect::<Result<HashMap<_, _>, Failure>>()?;
        Ok(Polled { lists, versions: stamp.versions.clone(), epoch: stamp.epoch.id().to_owned() })
    }
}

impl Poll for Database {
    fn poll(&self, lists: Vec<i64>) -> Result<Option<Polled>, StoreError> {
        if self.heartbeats.sending().is_some() {
            // A heartbeat sends the same query.
            return self.send_heartbeat().map(|_| None);
        }
        // Also ask for the heartbeats of the holders of leases, before one is missed.
        let processes: Vec<String> = self.heartbeats.known().keys().cloned().collect();
        let questions = || vec![self.poll_question(lists.clone()), self.heartbeats_of(processes.clone())];
        let Some((rows, stamp)) = self.read_stamped(DOING, questions)? else { return Ok(None) };
        let learnt = self.heartbeats.learn(&rows[1], 0, &self.clock.now_in_transaction());
        let polled = learnt.and_then(|()| Self::polled(&rows[0], &stamp));
        polled.map(Some).map_err(|failure| failure.into_store_error(self.shown(), DOING))
    }
}

/// Each team's directory and body.
pub(crate) type TeamBodies = Vec<(String, String)>;

pub(crate) fn read_bodies(rows: &[Row]) -> TeamBodies {
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}
