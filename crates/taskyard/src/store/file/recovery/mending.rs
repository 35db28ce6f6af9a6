//! Mending the journal of a list.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use taskyard_core::TaskId;
use taskyard_core::dialect::macf::hidden_task_of;

use crate::store::file::handle::Handle;
use crate::store::journal::{self, Beside};
use crate::store::locks::list_paths;
use crate::store::locks::queue;
use crate::store::locks::turn::WriteTurn;
use crate::store::{JournalDamage, StoreError};

/// No list has so many revisions: what our processes leave each other has no checksum.
const MOST_REVISIONS: u64 = 1 << 36;

/// Looks the journal over from end to end.
pub(in crate::store) fn examine(handle: &Handle) -> Result<Option<JournalDamage>, StoreError> {
    let Ok(sidecar) = handle.sidecar() else { return Ok(None) };
    journal::examine(sidecar, written(handle))
}

/// Puts a whole journal in the place of a damaged one.
pub(in crate::store) fn mend(handle: &Handle) -> Result<(), StoreError> {
    let sidecar = handle.sidecar()?;
    let beside = || -> Result<Beside, StoreError> {
        Ok(Beside { present: present(handle)?, written: written(handle), has_forms: false })
    };
    if handle.place.open()?.is_none() {
        // There is nothing to lock but our own queue, and the list is not made for this.
        let _queue = queue::enter(&handle.queue_file()?)?;
        journal::mend(sidecar, &handle.place.directory, &beside()?)?;
        handle.journals.forget();
        return Ok(());
    }
    let turn = WriteTurn::take(&handle.place, &handle.queue_file()?)?;
    journal::mend(sidecar, &handle.place.directory, &beside()?)?;
    handle.journals.forget();
    let (mut turn, journal) = handle.settled(turn, handle.journal()?)?;
    turn.release();
    handle.give_back(journal);
    drop(turn);
    // What other programs did while we could not record it.
    handle.observe().map(drop)
}

/// Returns the last revision that our processes told each other of.
fn written(handle: &Handle) -> u64 {
    handle.state().map(|state| state.applied).filter(|applied| *applied < MOST_REVISIONS).unwrap_or(0)
}

fn present(handle: &Handle) -> Result<BTreeSet<TaskId>, StoreError> {
    let Some(directory) = handle.place.open()? else { return Ok(BTreeSet::new()) };
    let names = list_paths::names(directory.as_fd(), &handle.place.directory)?;
    let task_of = |name: &String| list_paths::task_of(name).or_else(|| hidden_task_of(name));
    Ok(names.iter().filter_map(task_of).collect())
}
