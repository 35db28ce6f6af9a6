//! Which history of the database an answer comes from.
//!
//! A standby that lagged and was promoted, a backup that was restored: the database is back in time, and other commits get the numbers of
//! those it lost. The row of `yard` holds a random id, the epoch, and the timeline of the server on which the epoch began. Every answer
//! carries both ([`Stamp`]). A process that finds less than it knew begins a new epoch; so does a writer on a server of another timeline.
//! A process that meets another epoch than it read a list in forgets the list.

use taskyard::core::{Revision, Token};
use tokio_postgres::Row;

use crate::connecting::Failure;
use crate::schema::VERSION;
use crate::server_clock::NOW;
use crate::versions::Versions;

/// Tells the timeline of a server that takes writes. The name of the file it writes its log to begins with it, and every role may ask for
/// that. (`pg_control_checkpoint()` tells the timeline of the last checkpoint, which for a while after a promotion is the old one.)
pub(crate) const TIMELINE: &str = "CASE WHEN pg_is_in_recovery() THEN NULL
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END";

/// Tokens are counted from a time in milliseconds times this.
const TOKENS_PER_MILLISECOND: u64 = 10;

/// One history of the database.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    id: String,
    /// The server's timeline; `None` for a standby, and for a server that does not tell.
    timeline: Option<i64>,
}

/// What every transaction asks last.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// The epoch of everything else in the answer.
    pub(crate) epoch: Epoch,
    /// Every token that earlier epochs may have given out is lower.
    pub(crate) least_token: Token,
    /// The server's clock.
    pub(crate) now: i64,
    /// Whether the server is a standby.
    pub(crate) is_standby: bool,
    /// Whether the server has another timeline than the one that the epoch began on.
    pub(crate) is_outdated: bool,
    /// How often what changes seldom had changed; `None` if the database does not tell.
    pub(crate) versions: Option<Versions>,
}

/// What was found lower than it was known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The directory of the list.
    pub(crate) list: String,
    /// The revision that the process knew.
    pub(crate) known: Revision,
    /// The revision of the database.
    pub(crate) found: Revision,
}

impl Epoch {
    /// Tells whether both are one history. A timeline that is not known differs from none.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let is_other_timeline = self.timeline.zip(other.timeline).is_some_and(|(one, two)| one != two);
        self.id == other.id && !is_other_timeline
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Stamp {
    /// Returns what asks for it. On tables of another version, or without the row that tells it, it divides by zero, which ends the
    /// transaction before anything is committed.
    pub(crate) fn question(asks_timeline: bool) -> String {
        let server =
            if asks_timeline { format!("pg_is_in_recovery(), {TIMELINE}") } else { "false, NULL::bigint".into() };
        format!(
            "SELECT 1 / (coalesce(version, 0) = {VERSION})::int, {NOW}, epoch, epoch_began, timeline, {server}, {}
            FROM (VALUES (true)) AS always LEFT JOIN @.yard ON true",
            Versions::QUESTION
        )
    }

    /// Reads the answer.
    pub(crate) fn read(row: &Row) -> Result<Self, Failure> {
        let (began, of_epoch): (i64, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
        let timeline: Option<i64> = row.try_get(6)?;
        let epoch = Epoch { id: row.try_get(2)?, timeline };
        Ok(Self {
            versions: Versions::new(&epoch.id, row.try_get(7)?),
            epoch,
            least_token: Token(began.unsigned_abs().saturating_mul(TOKENS_PER_MILLISECOND)),
            now: row.try_get(1)?,
            is_standby: row.try_get(5)?,
            is_outdated: timeline.is_some() && timeline != of_epoch,
        })
    }

    /// Returns a token that a list continues from, given the last one in its row. A list that gave out none begins by the clock.
    pub(crate) fn last_token(&self, in_row: Token) -> Token {
        if in_row == Token(0) { in_row } else { in_row.max(self.least_token) }
    }
}

#[cfg(test)]
mod tests {
    use super::Epoch;

    #[test]
    fn epochs_differ_by_id_or_known_timeline() {
        let epoch = |id: &str, timeline| Epoch { id: id.to_owned(), timeline };
        let first = epoch("a", Some(1));
        assert!(first.is(&epoch("a", Some(1))) && first.is(&epoch("a", None)) && epoch("a", None).is(&first));
        assert!(!first.is(&epoch("a", Some(2))) && !first.is(&epoch("b", Some(1))) && !first.is(&epoch("b", None)));
    }
}
