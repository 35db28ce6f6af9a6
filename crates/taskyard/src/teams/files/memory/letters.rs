//! Which messages were sent, shown and acknowledged.

use std::collections::{HashMap, HashSet};

use taskyard_core::{MessageKey, Timestamp};

use super::Memory;
use crate::teams::TeamError;

/// What is acknowledged is forgotten after this long, in milliseconds: by then no agent sends the same message again.
const REMEMBERED: i64 = 30 * 24 * 60 * 60 * 1000;

/// So many messages are not looked up one by one.
const MANY: usize = 2_000;

/// A message that was sent from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::teams::files) struct SentRow {
    pub(in crate::teams::files) key: String,
    pub(in crate::teams::files) recipient: String,
    pub(in crate::teams::files) at: Timestamp,
    pub(in crate::teams::files) summary: String,
}

impl Memory {
    /// Remembers a message that lies in an inbox now.
    pub(in crate::teams::files) fn add_sent(&self, team: &str, sender: &str, row: &SentRow) -> Result<(), TeamError> {
        let query = "INSERT INTO sent (team, key, sender, recipient, at, summary) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = (team, &row.key, sender, &row.recipient, row.at.0, &row.summary);
        self.database.execute(query, values)?;
        Ok(())
    }

    /// Returns the messages a member sent, newest first.
    pub(in crate::teams::files) fn sent(
        &self,
        team: &str,
        sender: &str,
        most: usize,
    ) -> Result<Vec<SentRow>, TeamError> {
        let query = "SELECT key, recipient, at, summary FROM sent WHERE team = ?1 AND sender = ?2 ORDER BY number DESC LIMIT ?3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.database.rows(query, (team, sender, most), |row| {
            Ok(SentRow { key: row.get(0)?, recipient: row.get(1)?, at: Timestamp(row.get(2)?), summary: row.get(3)? })
        });
        Ok(rows?)
    }

    /// Remembers that messages were shown to their recipient.
    pub(in crate::teams::files) fn deliver(
        &mut self,
        inbox: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        self.for_each(query, inbox, keys, now)
    }

    /// Remembers that the recipient of messages has them.
    pub(in crate::teams::files) fn acknowledge(
        &mut self,
        inbox: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered, acknowledged) VALUES (?1, ?2, ?3, ?3)
            ON CONFLICT DO UPDATE SET acknowledged = coalesce(acknowledged, ?3)";
        self.for_each(query, inbox, keys, now)?;
        let query = "DELETE FROM deliveries WHERE inbox = ?1 AND acknowledged < ?2";
        self.database.execute(query, (inbox, long_before(now)))?;
        Ok(())
    }

    /// Forgets what was acknowledged long ago, in every inbox, and what was sent before a moment; returns how many messages that were.
    pub(in crate::teams) fn forget_letters(&self, now: Timestamp, sent_before: Timestamp) -> Result<usize, TeamError> {
        let acknowledged =
            self.database.execute("DELETE FROM deliveries WHERE acknowledged < ?1", [long_before(now)])?;
        Ok(acknowledged + self.database.execute("DELETE FROM sent WHERE at < ?1", [sent_before.0])?)
    }

    /// Returns how many messages [`Self::forget_letters`] would forget.
    pub(in crate::teams) fn old_letters(&self, now: Timestamp, sent_before: Timestamp) -> Result<usize, TeamError> {
        let query = "SELECT (SELECT count(*) FROM deliveries WHERE acknowledged < ?1) + (SELECT count(*) FROM sent WHERE at < ?2)";
        let count: i64 = self.database.one(query, [long_before(now), sent_before.0], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Writes the same down for several messages, in one transaction.
    fn for_each(&mut self, query: &str, inbox: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError> {
        let written = self.database.transact(|database| {
            for key in keys {
                database.execute(query, (inbox, key.as_text(), now.0))?;
            }
            Ok(())
        });
        Ok(written?)
    }

    /// Returns those of the messages of an inbox that are acknowledged. What it held once, and does not any more, is not looked at.
    pub(in crate::teams::files) fn acknowledged_among(
        &self,
        inbox: &str,
        mut keys: HashSet<MessageKey>,
    ) -> Result<HashSet<MessageKey>, TeamError> {
        if keys.len() > MANY {
            let all = self.deliveries(inbox)?;
            keys.retain(|key| all.get(&key.as_text()) == Some(&true));
            return Ok(keys);
        }
        let mut failed = None;
        keys.retain(|key| {
            failed.is_none() && self.is_acknowledged(inbox, key).map_err(|error| failed = Some(error)) == Ok(true)
        });
        failed.map_or(Ok(keys), Err)
    }

    /// Tells whether a message of an inbox is acknowledged.
    pub(in crate::teams::files) fn is_acknowledged(&self, inbox: &str, key: &MessageKey) -> Result<bool, TeamError> {
        let query = "SELECT 1 FROM deliveries WHERE inbox = ?1 AND key = ?2 AND acknowledged IS NOT NULL";
        Ok(self.database.row(query, (inbox, key.as_text()), |_| Ok(()))?.is_some())
    }

    /// Returns which messages of an inbox were shown, and whether they are acknowledged.
    pub(in crate::teams::files) fn deliveries(&self, inbox: &str) -> Result<HashMap<String, bool>, TeamError> {
        let query = "SELECT key, acknowledged IS NOT NULL FROM deliveries WHERE inbox = ?1";
        let rows = self.database.rows(query, [inbox], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.into_iter().collect())
    }
}

/// Returns the moment before which no reader needs what was acknowledged.
fn long_before(now: Timestamp) -> i64 {
    now.0.saturating_sub(REMEMBERED)
}
