//! A list in another dialect as the engine sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use taskyard_core::{Rules, TaskId};

use super::dialect_files::DialectFiles;
use super::open_list::{DialectList, DialectTurn, OpenList};
use super::{finishing, recording};
use crate::store::StoreError;
use crate::store::engine::ListFiles;
use crate::store::journal::{Journal, Move, MovePeer};

impl<F: DialectFiles> ListFiles for DialectList<F> {
    type Turn = DialectTurn<F>;

    const HAS_FORMS: bool = true;

    fn place(&self) -> &Path {
        &self.path
    }

    fn directory(&self) -> &Path {
        self.dialect.directory(&self.path)
    }

    fn beside(&self, peer: &MovePeer, _rules: Rules) -> Self {
        Self::at(Arc::clone(&self.dialect), peer.place.clone())
    }

    fn take_turn(&self, queue: &Path) -> Result<DialectTurn<F>, StoreError> {
        DialectTurn::take(&*self.dialect, &self.path, queue)
    }

    fn try_take_turn(&self, queue: &Path) -> Result<Option<DialectTurn<F>>, StoreError> {
        DialectTurn::try_take(&*self.dialect, &self.path, queue)
    }

    fn present(&self) -> Result<BTreeSet<TaskId>, StoreError> {
        let raw = self.dialect.load(&self.path)?;
        Ok(raw.map(|raw| self.dialect.forms(&raw).into_keys().collect()).unwrap_or_default())
    }

    fn let_go(&self) {
        *self.remembered() = None;
    }

    fn observe(list: &OpenList<F>) -> Result<bool, StoreError> {
        recording::observe(list)
    }

    fn follow_move(
        _list: &OpenList<F>,
        _turn: &mut DialectTurn<F>,
        journal: &Journal,
        noted: &Move,
    ) -> Result<(), StoreError> {
        finishing::follow_move(journal, noted)
    }

    fn finish(
        list: &OpenList<F>,
        turn: &mut DialectTurn<F>,
        journal: &mut Journal,
        _has_followed: bool,
    ) -> Result<(), StoreError> {
        finishing::repair(list, turn, journal)
    }
}
