//! The care for the journals of lists that are files, whatever those are, and mending a damaged one.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard_core::{ListId, Revision, Timestamp};

use super::open_list::{ListFiles, OpenList};
use super::turns::unfinished_move;
use crate::store::journal::{self, Beside, has_memory, install, journal_size, memory_size, sidecar_of};
use crate::store::{ArrivingList, JournalCare, JournalDamage, StaleWrite, StoreError};

/// A store whose lists are files.
pub(in crate::store) trait OpensLists: Debug + Send + Sync {
    /// The files of a list.
    type Files: ListFiles;

    /// Returns a list; nothing of it is opened yet.
    fn open_list(&self, list: &ListId) -> Arc<OpenList<Self::Files>>;

    /// Returns the lists that this process has open.
    fn open_lists(&self) -> Vec<Arc<OpenList<Self::Files>>>;

    /// Returns our data directory, if there is one.
    fn data(&self) -> Option<&Path>;

    /// Returns the lists that our memory knows and whose place is gone, each with that place.
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

/// Looks the journal over from end to end.
fn examine<F: ListFiles>(list: &OpenList<F>) -> Result<Option<JournalDamage>, StoreError> {
    let Ok(sidecar) = list.sidecar() else { return Ok(None) };
    journal::examine(sidecar, list.files.followed_up_to())
}

/// Puts a whole journal in the place of a damaged one.
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
    // What other programs did while we could not record it.
    F::observe(list).map(drop)
}
