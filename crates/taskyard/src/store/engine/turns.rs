//! Taking a turn at a list, recovery included, and maintenance of journals.
//!
//! A writer that gets a turn first finishes what a dead writer began. That includes an unfinished move between two
//! lists, which is carried out on the source list.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use taskyard_core::{ListId, Revision, Timestamp};

use super::open_list::{ListFiles, OpenList};
use crate::failpoint::reach;
use crate::store::journal::{Beside, Journal, MovePeer, has_memory, install, journal_size, memory_size, sidecar_of};
use crate::store::locks::queue::PATIENCE;
use crate::store::{ArrivingList, JournalCare, JournalDamage, StaleWrite, StoreError, journal};

impl<F: ListFiles> OpenList<F> {
    /// Waits for a turn, and finishes what a dead writer began.
    pub(in crate::store) fn take_turn(&self) -> Result<(F::Turn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            // Opening the journal creates the directory of the queue file.
            let journal = self.journal()?;
            let turn = self.files.take_turn(&self.queue_file()?)?;
            match self.settled(turn, journal) {
                // A rival keeps a lock that is needed to finish. We have released the turn, and other writers had
                // theirs.
                Err(StoreError::Busy { by, waited }) if waited.is_zero() => {
                    if started.elapsed() > PATIENCE {
                        return Err(StoreError::Busy { by, waited: started.elapsed() });
                    }
                }
                settled => return settled,
            }
        }
    }

    /// Waits for another turn to finish an existing commit. Waits longer than for the first turn, and retries if
    /// another program interferes.
    pub(in crate::store) fn take_turn_again(&self) -> Result<(F::Turn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            match self.take_turn() {
                Err(StoreError::Busy { .. } | StoreError::Conflict { .. }) if started.elapsed() < PATIENCE => {}
                taken => return taken,
            }
        }
    }

    /// Takes a turn if no other writer has one, and finishes what a dead writer began. Returns `None` if another writer
    /// has the turn or another program keeps a lock that is needed to finish.
    pub(in crate::store) fn try_take_turn(&self) -> Result<Option<(F::Turn, Journal)>, StoreError> {
        // Opening the journal creates the directory of the queue file.
        let journal = self.journal()?;
        match self.files.try_take_turn(&self.queue_file()?) {
            Ok(Some(turn)) => match self.settled(turn, journal) {
                Ok(settled) => Ok(Some(settled)),
                Err(StoreError::Busy { .. } | StoreError::NoLock { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            Ok(None) | Err(StoreError::Busy { .. }) => {
                self.give_back(journal);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Finishes, within a turn, what a dead writer began.
    pub(in crate::store) fn settled(
        &self,
        mut turn: F::Turn,
        journal: Journal,
    ) -> Result<(F::Turn, Journal), StoreError> {
        // The previous writer may have moved the list away ...
        self.files.must_be_here()?;
        // ... or replaced the database.
        let mut journal = self.journals.renewed(journal)?;
        if F::is_settled(self, &turn, &journal)? {
            return Ok((turn, journal));
        }
        F::recover(self, &mut turn, &mut journal)?;
        let followed = finish_noted_moves(self, &mut turn, &journal)?;
        F::finish(self, &mut turn, &mut journal, !followed.is_empty())?;
        let finished = followed.iter().try_for_each(|peer| finish_peer(self, peer).map(drop));
        // This list is consistent even if the other list of a move cannot follow yet.
        if let Err(error) = finished.and_then(|()| finish_arrivals(self, &journal)) {
            tracing::warn!(%error, "the other list of a move has not followed yet");
        }
        Ok((turn, journal))
    }
}

/// Carries out noted moves that happened on the source list, and discards the notes of those that did not. Returns the
/// destinations of the moves carried out.
pub(in crate::store) fn finish_noted_moves<F: ListFiles>(
    list: &OpenList<F>,
    turn: &mut F::Turn,
    journal: &Journal,
) -> Result<Vec<MovePeer>, StoreError> {
    let mut followed = Vec::new();
    for noted in journal.noted_moves()? {
        let happened = Journal::decide_move_at(&noted.peer.sidecar, &noted.token)?;
        reach("move: decided");
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), list = %list.list, "finishing a merge that its writer did not finish");
            F::follow_move(list, turn, journal, &noted)?;
            followed.push(noted.peer.clone());
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
        reach("move: followed by its note");
    }
    Ok(followed)
}

/// Finishes moves to this list on the source lists, if the writer did not get that far.
fn finish_arrivals<F: ListFiles>(list: &OpenList<F>, journal: &Journal) -> Result<(), StoreError> {
    for (token, origin) in journal.arrivals()? {
        if finish_peer(list, &origin)? {
            journal.forget_arrival(&token)?;
        }
    }
    Ok(())
}

/// Makes the other list of a move finish what its writer left. Returns false if another process has the turn there;
/// that process finishes it first.
fn finish_peer<F: ListFiles>(list: &OpenList<F>, peer: &MovePeer) -> Result<bool, StoreError> {
    let Some(peer) = list.beside(peer)? else { return Ok(true) };
    let Some((turn, journal)) = peer.try_take_turn()? else { return Ok(false) };
    drop(turn);
    peer.give_back(journal);
    Ok(true)
}

/// Finishes what is left of moves to and from a list, and returns why that fails.
pub(super) fn unfinished_move<F: ListFiles>(list: &OpenList<F>) -> Result<Option<StoreError>, StoreError> {
    if !list.journals.ask(Journal::has_pending_moves)? {
        return Ok(None);
    }
    match list.try_take_turn() {
        Ok(Some((turn, journal))) => {
            let failed = finish_arrivals(list, &journal).err();
            drop(turn);
            list.give_back(journal);
            Ok(failed)
        }
        Ok(None) => Ok(None),
        Err(error) => Ok(Some(error)),
    }
}

/// A store whose lists are files.
pub(in crate::store) trait OpensLists: Debug + Send + Sync {
    type Files: ListFiles;

    /// Returns a list without opening anything.
    fn open_list(&self, list: &ListId) -> Arc<OpenList<Self::Files>>;

    /// Returns the lists that this process has open.
    fn open_lists(&self) -> Vec<Arc<OpenList<Self::Files>>>;

    /// Returns our data directory, if there is one.
    fn data(&self) -> Option<&Path>;

    /// Returns the lists we have records of but whose path no longer exists, each with that path.
    fn places_gone(&self, data: &Path) -> Vec<(ListId, PathBuf)>;
}

impl<S: OpensLists> JournalCare for S {
    fn last_look(&self, list: &ListId) -> Option<Timestamp> {
        let list = self.open_list(list);
        let journal = list.journal_to_read()?;
        let last = journal.last_look().ok().flatten();
        list.give_back(journal);
        last
    }

    fn take_stale_writes(&self, list: &ListId) -> Vec<StaleWrite> {
        self.open_list(list).journals.take_stale_writes()
    }

    fn examine_journal(&self, list: &ListId) -> Result<Option<JournalDamage>, StoreError> {
        examine(&self.open_list(list))
    }

    fn unfinished_move(&self, list: &ListId) -> Result<Option<StoreError>, StoreError> {
        unfinished_move(&self.open_list(list))
    }

    fn mend_journal(&self, list: &ListId) -> Result<(), StoreError> {
        mend(&self.open_list(list))
    }

    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)> {
        let lists = self.open_lists().into_iter();
        lists.filter_map(|open| Some((open.list.clone(), open.journals.damage()?))).collect()
    }

    fn newer_journals(&self) -> Vec<(ListId, i64)> {
        let lists = self.open_lists().into_iter();
        lists.filter_map(|open| Some((open.list.clone(), open.journals.newer_format()?))).collect()
    }

    fn journal_size(&self, list: &ListId) -> u64 {
        self.memory_of(list).map_or(0, |sidecar| journal_size(&sidecar))
    }

    fn gone_memories(&self) -> Result<Vec<(ListId, u64)>, StoreError> {
        let Some(data) = self.data() else { return Ok(Vec::new()) };
        let mut gone = self.places_gone(data);
        gone.sort();
        Ok(gone.into_iter().map(|(list, path)| (list, memory_size(&sidecar_of(data, &path)))).collect())
    }

    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError> {
        self.open_list(list).journals.thinned()
    }

    fn memory_of(&self, list: &ListId) -> Option<PathBuf> {
        self.open_list(list).sidecar().ok().cloned()
    }

    fn take_memory(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
        let list = self.open_list(list);
        let installed = install(list.sidecar()?, list.files.place(), arriving)?;
        list.journals.forget();
        list.files.let_go();
        Ok(installed)
    }

    fn has_memory(&self, list: &ListId) -> bool {
        self.memory_of(list).is_some_and(|sidecar| has_memory(&sidecar))
    }
}

/// Checks the whole journal for damage.
fn examine<F: ListFiles>(list: &OpenList<F>) -> Result<Option<JournalDamage>, StoreError> {
    let Ok(sidecar) = list.sidecar() else { return Ok(None) };
    journal::examine(sidecar, list.files.followed_up_to())
}

/// Replaces a damaged journal by a sound one.
fn mend<F: ListFiles>(list: &OpenList<F>) -> Result<(), StoreError> {
    let turn = list.files.take_bare_turn(&list.queue_file()?)?;
    let (present, written) = (list.files.present()?, list.files.followed_up_to());
    journal::mend(list.sidecar()?, list.files.place(), &Beside { present, written, has_forms: F::HAS_FORMS })?;
    list.journals.forget();
    list.files.let_go();
    let Some(at_files) = turn.at_files else { return Ok(()) };
    let (turn, journal) = list.settled(at_files, list.journal()?)?;
    drop(turn);
    list.give_back(journal);
    // Record what other programs did while we could not.
    F::observe(list).map(drop)
}
