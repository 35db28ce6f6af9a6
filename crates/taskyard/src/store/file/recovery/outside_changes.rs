//! What another program did to files before one of ours is about to write them.

use taskyard_core::{Image, Revision, TaskId, Timestamp};

use crate::store::StoreError;
use crate::store::file::reading::deletions::deletions;
use crate::store::journal::{Extent, Journal, OutsideChange, OutsideRecord};
use crate::store::locks::list_paths::ListPaths;

/// A file that was not in its last known state when we read it was changed by another program; history says so, and what it took back of
/// ours. `found` is what each file holds and, if that is known, when it was written, in nanoseconds. Returns `None` if no file was changed.
pub(in crate::store) fn journal_outside_changes<'a>(
    journal: &Journal,
    place: &ListPaths,
    found: impl Iterator<Item = (&'a TaskId, Option<&'a Image>, Option<i64>)>,
    revision: Revision,
    at: Timestamp,
) -> Result<Option<OutsideRecord>, StoreError> {
    let mut changed = Vec::new();
    for (task, before, written) in found {
        let known = journal.known(task)?;
        if known.as_ref().map(|known| &known.image) != before {
            changed.push((task, known, before, written));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let gone: Vec<&TaskId> = changed.iter().filter(|(_, _, now, _)| now.is_none()).map(|(task, ..)| *task).collect();
    let deleted = deletions(place, journal, &gone)?;
    let changes: Vec<OutsideChange<'_>> = changed
        .iter()
        .map(|(task, known, before, written)| OutsideChange {
            task,
            before: known.as_ref().map(|known| &known.image),
            after: *before,
            mode: known.as_ref().and_then(|known| known.mode),
            written: *written,
            is_deletion: deleted.contains(task),
        })
        .collect();
    journal.append_outside(revision, at, &changes, Extent::EachItsOwn).map(Some)
}
