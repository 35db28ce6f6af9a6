//! The record that a directory uses its list, which is made at the first write.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::ListId;
use taskyard::machine::{ListUse, Machine, MachineError, Recording, UseRecorded};
use taskyard::opening::{Address, Places};
use taskyard::store::{Cause, Store, StoreError};

/// Records at the first write that a directory uses its list.
#[derive(Clone, Debug)]
pub(super) struct Recorder(Arc<(UseOfList, Mutex<Record>)>);

/// How far the recording has come.
#[derive(Debug, Default)]
struct Record {
    is_made: bool,
    notes: Vec<String>,
}

/// The use of a list that is to be recorded.
#[derive(Debug)]
pub(super) struct UseOfList {
    pub(super) data: PathBuf,
    pub(super) used: ListUse,
    pub(super) list: ListId,
    pub(super) address: Address,
    pub(super) places: Places,
    pub(super) store: Arc<dyn Store>,
    /// What the user is told once it is recorded.
    pub(super) note: Option<String>,
}

impl Recorder {
    /// Returns what records this use.
    pub(super) fn of(used: UseOfList) -> Self {
        Self(Arc::new((used, Mutex::default())))
    }

    /// Records the use, if this is the list of the directory and nothing was recorded yet. Fails if another repository was given the list.
    pub(super) fn record(&self, list: &ListId) -> Result<(), StoreError> {
        match self.try_record(list)? {
            true => Ok(()),
            false => Err(self
                .0
                .0
                .failed("another repository was given it this moment; run the command again".to_owned().into())),
        }
    }

    /// Records the use likewise, and tells whether the list is still to be had.
    pub(super) fn try_record(&self, list: &ListId) -> Result<bool, StoreError> {
        let (use_of_list, record) = &*self.0;
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        if record.is_made || *list != use_of_list.list {
            return Ok(true);
        }
        let Some(notes) = use_of_list.record()? else { return Ok(false) };
        record.notes.extend(notes);
        record.is_made = true;
        Ok(true)
    }

    /// Returns what the user should know of what was recorded, each of it once.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.1.lock().unwrap_or_else(PoisonError::into_inner).notes)
    }
}

impl UseOfList {
    /// Records the use, and returns what the user should know of it; `None` if the list is another repository's by now.
    fn record(&self) -> Result<Option<Vec<String>>, StoreError> {
        let has_tasks = |name: &str| {
            let list = Machine::list_named(&self.data, name, Recording::Nothing);
            list.is_ok_and(|list| has_tasks(&self.address, &self.places, &list, || Some(Arc::clone(&self.store))))
        };
        let recorded = Machine::record_use(&self.data, &self.used, &has_tasks).unwrap_or_else(|error| {
            // The tasks count for more than the record, which the next write makes.
            tracing::warn!(%error, list = %self.list, "cannot record the use of a list");
            UseRecorded::Before
        });
        match recorded {
            UseRecorded::Before => return Ok(Some(Vec::new())),
            UseRecorded::Now => {}
            UseRecorded::Taken => return Ok(None),
        }
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        let shared_with = self.shared_with().unwrap_or_else(|error| {
            tracing::debug!(%error, list = %self.list, "it is not known who shares a list");
            None
        });
        notes.extend(shared_with.map(|other| {
            let list = &self.list;
            let other = other.display();
            format!("this repository shares list {list} with `{other}`, as before; `taskyard use LIST` gives it one of its own")
        }));
        for note in &notes {
            tracing::info!("{note}");
        }
        Ok(Some(notes))
    }

    /// Returns the root of another repository that has the same list.
    fn shared_with(&self) -> Result<Option<PathBuf>, MachineError> {
        let (Some(checkout), Some(list)) = (&self.used.checkout, &self.used.of_repository) else { return Ok(None) };
        let (Some(machine), true) = (Machine::look(&self.data)?, *list == self.used.list) else { return Ok(None) };
        let mut sharing = machine.repositories_of(&self.list, Some(&self.used.store))?;
        sharing.remove(&checkout.root);
        Ok(sharing.pop_first())
    }

    fn failed(&self, source: Cause) -> StoreError {
        StoreError::Failed { doing: format!("record the use of list `{}`", self.list), source }
    }
}

/// Tells whether a list has tasks. One that cannot be looked at counts as one that has.
pub(super) fn has_tasks(
    address: &Address,
    places: &Places,
    list: &ListId,
    store: impl FnOnce() -> Option<Arc<dyn Store>>,
) -> bool {
    let directory = match address {
        Address::Claude | Address::File(_) => address.path_of_list(list, places),
        _ => None,
    };
    let Some(directory) = directory else {
        return store().is_some_and(|store| store.has(list).unwrap_or(true));
    };
    match fs::read_dir(&directory) {
        Ok(mut entries) => {
            entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().ends_with(b".json")))
        }
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}
