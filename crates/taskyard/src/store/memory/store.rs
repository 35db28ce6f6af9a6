//! A store whose lists live as long as it does.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{Entry, Lease, ListId, Revision, Rules};

use super::list_cell::ListCell;
use super::txn::{MemoryTxn, MemoryTxnPair};
use super::watching;
use crate::store::staged::StateSnapshot;
use crate::store::{HistoryQuery, ListInfo, Listener, Litter, Snapshot, Store, StoreError, Subscription, Txn, TxnPair};

/// Keeps lists in memory, each task by the image a file would hold.
#[derive(Debug)]
pub struct MemoryStore {
    rules: Rules,
    lists: Mutex<BTreeMap<ListId, Arc<ListCell>>>,
}

impl MemoryStore {
    /// Returns a store without lists, in these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, lists: Mutex::default() }
    }

    fn cell(&self, list: &ListId) -> Arc<ListCell> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lists.entry(list.clone()).or_insert_with(|| ListCell::new(list.clone())))
    }
}

impl Store for MemoryStore {
    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let cells: Vec<_> = self.lists.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        Ok(cells.iter().filter_map(|cell| info(cell)).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.cell(list).state() }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(MemoryTxn::open(self.cell(list).take_turn(), self.rules)))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        let turn = self.cell(list).try_turn();
        Ok(turn.map(|turn| Box::new(MemoryTxn::open(turn, self.rules)) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        if from == into {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is one list, not two");
            return Err(StoreError::Io { doing: "cannot write twice to", path: from.directory().into(), source });
        }
        // Turns are taken in one order by everybody, so that two pairs cannot wait for each other.
        let (from, into) = if from < into {
            let from = self.cell(from).take_turn();
            (from, self.cell(into).take_turn())
        } else {
            let into = self.cell(into).take_turn();
            (self.cell(from).take_turn(), into)
        };
        let (from, into) = (MemoryTxn::open(from, self.rules), MemoryTxn::open(into, self.rules));
        Ok(Box::new(MemoryTxnPair { from, into }))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(self.cell(list).history(query))
    }

    fn watch(&self, list: &ListId, since: Revision, to: Listener) -> Result<Subscription, StoreError> {
        watching::watch(&self.cell(list), since, to)
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.cell(list).book().renew(leases);
        Ok(())
    }

    fn litter(&self, _list: &ListId) -> Result<Vec<Litter>, StoreError> {
        Ok(Vec::new())
    }

    fn sweep(&self, _list: &ListId, _litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
        Ok(Vec::new())
    }
}

fn info(cell: &ListCell) -> Option<ListInfo> {
    let state = cell.state();
    let tasks = state.tasks.values().filter_map(|kept| kept.task.as_ref().ok());
    let mut counts = [0; 3];
    for task in tasks.filter(|task| !task.is_internal()) {
        counts[task.status as usize] += 1;
    }
    state.exists.then(|| ListInfo { list: cell.list.clone(), path: None, counts, changed: state.changed })
}
