//! The client's files as the engine sees them.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::{Rules, TaskId};

use super::client_files::{ClientFiles, Handle};
use super::{flush, recovery};
use crate::store::StoreError;
use crate::store::engine::{BareTurn, ListFiles};
use crate::store::file::reading::live_state::Live;
use crate::store::journal::{Journal, Move, MovePeer};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::turn::WriteTurn;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::locks::{list_paths, queue};

/// An upper bound for revisions, to reject invalid turn records, which have no checksum.
const MOST_REVISIONS: u64 = 1 << 36;

impl ListFiles for ClientFiles {
    type Turn = WriteTurn;

    const HAS_FORMS: bool = false;

    fn place(&self) -> &Path {
        &self.place.directory
    }

    fn directory(&self) -> &Path {
        &self.place.directory
    }

    fn beside(&self, peer: &MovePeer, rules: Rules) -> Self {
        Self::at(ListPaths::at(peer.place.clone(), peer.sidecar.clone(), rules), self.clock.clone())
    }

    fn must_be_here(&self) -> Result<(), StoreError> {
        Self::must_be_here(self)
    }

    fn take_turn(&self, queue: &Path) -> Result<WriteTurn, StoreError> {
        WriteTurn::take(&self.place, queue)
    }

    fn try_take_turn(&self, queue: &Path) -> Result<Option<WriteTurn>, StoreError> {
        WriteTurn::try_take(&self.place, queue)
    }

    fn take_bare_turn(&self, queue: &Path) -> Result<BareTurn<WriteTurn>, StoreError> {
        match self.place.open()? {
            Some(_) => Ok(BareTurn::at_files(self.take_turn(queue)?)),
            // Do not create the list for this.
            None => Ok(BareTurn::in_queue(queue::enter(queue)?)),
        }
    }

    fn present(&self) -> Result<BTreeSet<TaskId>, StoreError> {
        let Some(directory) = self.place.open()? else { return Ok(BTreeSet::new()) };
        let names = list_paths::names(directory.as_fd(), &self.place.directory)?;
        let task_of = |name: &String| list_paths::task_of(name).or_else(|| hidden_task_of(name));
        Ok(names.iter().filter_map(task_of).collect())
    }

    fn followed_up_to(&self) -> u64 {
        self.state().map(|state| state.applied).filter(|applied| *applied < MOST_REVISIONS).unwrap_or(0)
    }

    fn let_go(&self) {
        // A reader that is using it keeps it.
        if let Ok(mut live) = self.live.try_lock() {
            *live = Live::default();
        }
    }

    fn close(list: &Handle) {
        flush::flush_at_close(list);
    }

    fn observe(list: &Handle) -> Result<bool, StoreError> {
        list.observe()
    }

    fn is_settled(list: &Handle, turn: &WriteTurn, journal: &Journal) -> Result<bool, StoreError> {
        let TurnRecord { turns, sequence, applied, .. } = turn.state;
        if turn.is_after_a_death || turns == 1 || sequence % 2 == 1 || !list.files.is_boot_of(journal) {
            return Ok(false);
        }
        // One transaction for all queries: each by itself would lock the database.
        let moment = journal.begin_to_read()?;
        let is_settled = journal.newest()?.0 <= applied && !journal.has_pending_moves()?;
        drop(moment);
        Ok(is_settled)
    }

    fn recover(list: &Handle, turn: &mut WriteTurn, journal: &mut Journal) -> Result<(), StoreError> {
        if !list.files.is_same_boot()? {
            recovery::recover(list, turn, journal)?;
            list.files.note_boot();
        }
        recovery::take_over(turn, journal)
    }

    fn follow_move(list: &Handle, turn: &mut WriteTurn, journal: &Journal, noted: &Move) -> Result<(), StoreError> {
        recovery::follow_move(turn, journal, noted, list.rules)
    }

    fn finish(
        list: &Handle,
        turn: &mut WriteTurn,
        journal: &mut Journal,
        has_followed: bool,
    ) -> Result<(), StoreError> {
        recovery::finish_if_behind(turn, journal, list.rules, has_followed)
    }
}
