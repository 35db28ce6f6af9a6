//! Which messages were sent, shown and acknowledged.

use std::collections::{HashMap, HashSet};

use rusqlite::TransactionBehavior;
use taskyard_core::{MessageKey, Timestamp};

use super::Memory;
use crate::teams::TeamError;

/// What is acknowledged is forgotten after this long, in milliseconds: by then nobody sends the same message again.
const REMEMBERED: i64 = 30 * 24 * 60 * 60 * 1000;

/// So many messages are not looked up one by one.
const MANY: usize = 2_000;

/// A message that was sent from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::teams) struct SentRow {
    pub(in crate::teams) key: String,
    pub(in crate::teams) recipient: String,
    pub(in crate::teams) at: Timestamp,
    pub(in crate::teams) summary: String,
}

impl Memory {
    /// Remembers a message that lies in an inbox now.
    pub(in crate::teams) fn add_sent(&self, team: &str, sender: &str, row: &SentRow) -> Result<(), TeamError> {
        let query = "INSERT INTO sent (team, key, sender, recipient, at, summary) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut statement = self.connection.prepare_cached(query).map_err(self.failed("write"))?;
        let values = (team, &row.key, sender, &row.recipient, row.at.0, &row.summary);
        statement.execute(values).map(drop).map_err(self.failed("write"))
    }

    /// Returns the messages a member sent, newest first.
    pub(in crate::teams) fn sent(&self, team: &str, sender: &str, most: usize) -> Result<Vec<SentRow>, TeamError> {
        let query = "SELECT key, recipient, at, summary FROM sent WHERE team = ?1 AND sender = ?2 ORDER BY number DESC LIMIT ?3";
        let mut statement = self.connection.prepare_cached(query).map_err(self.failed("read"))?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = statement.query_map((team, sender, most), |row| {
            Ok(SentRow { key: row.get(0)?, recipient: row.get(1)?, at: Timestamp(row.get(2)?), summary: row.get(3)? })
        });
        rows.and_then(Iterator::collect).map_err(self.failed("read"))
    }

    /// Remembers that messages were shown to whoever they are for.
    pub(in crate::teams) fn deliver<'a>(
        &mut self,
        inbox: &str,
        keys: impl Iterator<Item = &'a MessageKey>,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        self.for_each(query, inbox, keys, now).map_err(self.failed("write"))
    }

    /// Remembers that whoever messages are for has them.
    pub(in crate::teams) fn acknowledge<'a>(
        &mut self,
        inbox: &str,
        keys: impl Iterator<Item = &'a MessageKey>,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO deliveries (inbox, key, delivered, acknowledged) VALUES (?1, ?2, ?3, ?3)
            ON CONFLICT DO UPDATE SET acknowledged = coalesce(acknowledged, ?3)";
        self.for_each(query, inbox, keys, now).map_err(self.failed("write"))?;
        let query = "DELETE FROM deliveries WHERE inbox = ?1 AND acknowledged < ?2";
        let long_ago = now.0.saturating_sub(REMEMBERED);
        self.connection.execute(query, (inbox, long_ago)).map(drop).map_err(self.failed("write"))
    }

    /// Writes the same down for several messages, in one transaction.
    fn for_each<'a>(
        &mut self,
        query: &str,
        inbox: &str,
        keys: impl Iterator<Item = &'a MessageKey>,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut statement = transaction.prepare_cached(query)?;
            for key in keys {
                statement.execute((inbox, key.as_text(), now.0))?;
            }
        }
        transaction.commit()
    }

    /// Returns those messages of an inbox that are acknowledged. What an inbox held once, and does not any more, is not looked at.
    pub(in crate::teams) fn acknowledged_among<'a>(
        &self,
        inbox: &str,
        keys: impl ExactSizeIterator<Item = &'a MessageKey>,
    ) -> Result<HashSet<String>, TeamError> {
        if keys.len() > MANY {
            let all = self.deliveries(inbox)?;
            return Ok(all.into_iter().filter_map(|(key, is_acknowledged)| is_acknowledged.then_some(key)).collect());
        }
        let query = "SELECT 1 FROM deliveries WHERE inbox = ?1 AND key = ?2 AND acknowledged IS NOT NULL";
        let mut statement = self.connection.prepare_cached(query).map_err(self.failed("read"))?;
        let mut found = HashSet::new();
        for key in keys.map(MessageKey::as_text) {
            if statement.exists((inbox, &key)).map_err(self.failed("read"))? {
                found.insert(key);
            }
        }
        Ok(found)
    }

    /// Returns which messages of an inbox were shown, and whether they are acknowledged.
    pub(in crate::teams) fn deliveries(&self, inbox: &str) -> Result<HashMap<String, bool>, TeamError> {
        let query = "SELECT key, acknowledged IS NOT NULL FROM deliveries WHERE inbox = ?1";
        let mut statement = self.connection.prepare_cached(query).map_err(self.failed("read"))?;
        let rows = statement.query_map([inbox], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(self.failed("read"))
    }
}
