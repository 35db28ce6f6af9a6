//! Halves of surrogate pairs in the texts of a task that gets a file of its own elsewhere.

use taskyard_core::dialect::native::as_written_in;
use taskyard_core::{Image, TaskId};

use crate::store::{Lookup, Snapshot, StoreError, Txn};

/// What stands in a text that was read where it holds what our strings do not.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Returns the contents a task was read from, where they may hold more than was read.
pub(super) fn origin_of(list: &dyn Snapshot, id: &TaskId, read: &Image) -> Result<Option<Image>, StoreError> {
    if !read.bytes().windows(REPLACEMENT.len()).any(|bytes| bytes == REPLACEMENT) {
        return Ok(None);
    }
    Ok(match list.find(id)? {
        Lookup::Found(_, image) => Some(image),
        Lookup::Missing | Lookup::Unreadable(_) => None,
    })
}

/// Stages a task that is new and came from other contents, with what those held and our strings do not.
pub(super) fn put_exact_texts(txn: &mut dyn Txn, id: &TaskId, origin: &Image) -> Result<(), StoreError> {
    match txn.find(id)? {
        Lookup::Found(_, image) => txn.put_image(id, as_written_in(origin, image)),
        Lookup::Missing | Lookup::Unreadable(_) => Ok(()),
    }
}
