//! Being told that a list in memory has grown, or that there is another one.

use std::sync::Arc;
use std::time::Duration;

use taskyard_core::Entry;

use super::list_cell::ListCell;
use crate::store::{HistoryQuery, ListWatch, Moved, StoreError, Watch};
use crate::watching::{Watchers, Watching};

/// Watches one list.
pub(super) struct CellWatch {
    cell: Arc<ListCell>,
    _watching: Watching,
}

/// Watches which lists there are.
pub(super) struct NamesWatch {
    _watching: Watching,
}

impl CellWatch {
    pub(super) fn of(cell: Arc<ListCell>, moved: Moved) -> Self {
        Self { _watching: cell.watchers.add(moved), cell }
    }
}

impl NamesWatch {
    pub(super) fn of(watchers: &Watchers, moved: Moved) -> Self {
        Self { _watching: watchers.add(moved) }
    }
}

impl Watch for CellWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}

impl ListWatch for CellWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(self.cell.history(query))
    }
}

impl Watch for NamesWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}
