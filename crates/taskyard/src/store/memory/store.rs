//! A store whose lists live as long as it does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{Entry, Lease, ListId, Moment, Revision, Rules};

use super::list_cell::{ListCell, MemoryTurn};
use super::watching::{CellWatch, NamesWatch};
use crate::store::kit::{StagedPair, StagedTxn, StateSnapshot};
use crate::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Moved, Snapshot, Store, StoreClock, StoreError, Txn, TxnPair,
    Watch,
};
use crate::watching::Watchers;

/// The number of lists above which the store drops those that were read but never written.
const MOST: usize = 256;

/// Keeps lists in memory, each task by the image a file would hold.
#[derive(Debug)]
pub struct MemoryStore {
    rules: Rules,
    clock: StoreClock,
    lists: Mutex<BTreeMap<ListId, Arc<ListCell>>>,
    /// The callers that want to know that a list has come or gone.
    watchers: Watchers,
}

impl MemoryStore {
    /// Returns a store without lists, in these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, clock: StoreClock::default(), lists: Mutex::default(), watchers: Watchers::default() }
    }

    /// Gives leases and ends them by another clock than this machine's.
    #[must_use]
    pub fn with_clock(self, clock: StoreClock) -> Self {
        Self { clock, ..self }
    }

    fn cell(&self, list: &ListId) -> Arc<ListCell> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MOST && !lists.contains_key(list) {
            lists.retain(|_, cell| Arc::strong_count(cell) > 1 || cell.state().revision > Revision(0));
        }
        let new = || ListCell::new(list.clone(), self.clock.clone(), self.watchers.clone());
        Arc::clone(lists.entry(list.clone()).or_insert_with(new))
    }

    fn begin(&self, turn: MemoryTurn) -> StagedTxn<MemoryTurn> {
        let state = turn.cell().state();
        StagedTxn::new(turn, state, self.rules)
    }
}

impl Store for MemoryStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.clock.now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let cells: Vec<_> = self.lists.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let info = |cell: &Arc<ListCell>| {
            let state = cell.state();
            state.exists.then(|| state.info(&cell.list))
        };
        Ok(cells.iter().filter_map(info).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.cell(list).state() }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(self.begin(self.cell(list).take_turn())))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(self.cell(list).try_turn().map(|turn| Box::new(self.begin(turn)) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(StagedPair::open((from, into), |list| Ok(self.begin(self.cell(list).take_turn())))?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(self.cell(list).history(query))
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(Box::new(CellWatch::of(self.cell(list), moved)))
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(NamesWatch::of(&self.watchers, moved)))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.cell(list).renew(leases);
        Ok(())
    }
}
