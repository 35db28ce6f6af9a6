//! The store itself.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use taskyard::core::{Entry, Lease, ListId, Moment, Rules};
use taskyard::store::kit::{Followed, StagedPair, StagedTxn, StateSnapshot, select, watch};
use taskyard::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Moved, Snapshot, Store, StoreClock, StoreError, Txn, TxnPair,
};

use super::log::Log;
use super::writer::LogWriter;

/// Keeps all lists of a directory in one append-only file.
#[derive(Debug)]
pub struct LogStore {
    log: Arc<Log>,
    rules: Rules,
}

impl LogStore {
    /// Opens the store of a directory, which must exist.
    pub fn open(directory: impl Into<PathBuf>, rules: Rules) -> Self {
        Self { log: Arc::new(Log { directory: directory.into(), lists: Mutex::default() }), rules }
    }

    fn catch_up(&self, list: &ListId, writer: LogWriter) -> Result<StagedTxn<LogWriter>, StoreError> {
        Ok(StagedTxn::new(writer, self.log.caught_up(|lists| lists.state(list))?, self.rules))
    }
}

impl Store for LogStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        self.log.caught_up(|lists| lists.names().map(|list| lists.state(list).info(list)).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.log.caught_up(|lists| lists.state(list))? }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(self.catch_up(list, LogWriter::wait(&self.log, list)?)?))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        let Some(writer) = LogWriter::without_waiting(&self.log, list)? else { return Ok(None) };
        Ok(Some(Box::new(self.catch_up(list, writer)?)))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(StagedPair::open((from, into), |list| self.catch_up(list, LogWriter::wait(&self.log, list)?))?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.log.caught_up(|lists| select(lists.journal(list), query))
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(watch(Arc::new(FollowedList { log: Arc::clone(&self.log), list: list.clone() }), moved))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.log.append(|lists| vec![(list.clone(), lists.state(list).renewal(leases))])
    }
}

/// A list whose journal a follower follows.
struct FollowedList {
    log: Arc<Log>,
    list: ListId,
}

impl Followed for FollowedList {
    fn list(&self) -> &ListId {
        &self.list
    }

    fn directories(&self) -> Vec<&Path> {
        vec![&self.log.directory]
    }

    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.log.caught_up(|lists| select(lists.journal(&self.list), query))
    }
}
