//! The images that entries tell of. The newest of a task is whole; an older one is what is new against the one before it, and is
//! rebuilt from there.
//!
//! In the table, `before` is the bytes, or the number of the entry whose image it is; `after` is the bytes, or null where `packed` holds
//! it.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use taskyard_core::Image;
use taskyard_core::packing::{Unpackable, needs_base, unpack};

use super::wrong_sum::wrong;

/// The columns of an entry, in the order in which they are read. The checksum is of those before it, with rebuilt images.
pub(super) const COLUMNS: &str = "id, at, actor, op, task, before, after, inode, undoes, remark, mode, sum, packed";
/// The places of the images, of the checksum and of what was packed among them.
pub(super) const BEFORE: usize = 5;
pub(super) const AFTER: usize = 6;
pub(super) const SUM: usize = 11;
pub(super) const PACKED: usize = 12;
/// So many bytes of images are remembered for the entries that follow.
const REMEMBERED: usize = 2 << 20;

/// The images of one entry.
pub(super) struct Images {
    pub(super) before: Option<Image>,
    pub(super) after: Option<Image>,
}

/// The last images that were read, by the number of their entry.
#[derive(Debug, Default)]
pub(super) struct RecentImages {
    images: HashMap<i64, Image>,
    order: VecDeque<i64>,
    bytes: usize,
}

impl RecentImages {
    fn keep(&mut self, entry: i64, image: &Image) {
        if self.images.insert(entry, image.clone()).is_some() {
            return;
        }
        self.order.push_back(entry);
        self.bytes += image.bytes().len();
        while self.bytes > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.images.remove(&oldest);
            self.bytes -= gone.map_or(0, |image| image.bytes().len());
        }
    }
}

/// Returns the images of a row of entries. They may be those of a damaged row: only the checksum of the rebuilt row tells.
pub(super) fn images_of(
    connection: &Connection,
    recent: &RefCell<RecentImages>,
    row: &Row<'_>,
) -> rusqlite::Result<Images> {
    let before = match row.get_ref(BEFORE)? {
        ValueRef::Integer(entry) => Some(image_after(connection, recent, entry)?),
        whole => whole.as_blob_or_null()?.map(Image::new),
    };
    let after = match row.get_ref(PACKED)? {
        ValueRef::Null => row.get_ref(AFTER)?.as_blob_or_null()?.map(Image::new),
        packed => Some(unpacked(packed.as_blob()?, before.as_ref())?),
    };
    if let Some(image) = &after {
        recent.borrow_mut().keep(row.get(0)?, image);
    }
    Ok(Images { before, after })
}

/// Returns what a task was after an entry.
pub(super) fn image_after(
    connection: &Connection,
    recent: &RefCell<RecentImages>,
    entry: i64,
) -> rusqlite::Result<Image> {
    let mut statement = connection.prepare_cached("SELECT before, after, packed FROM entries WHERE id = ?1")?;
    let mut differences: Vec<(i64, Vec<u8>)> = Vec::new();
    let mut wanted = entry;
    let mut image = loop {
        if let Some(image) = recent.borrow().images.get(&wanted) {
            break image.clone();
        }
        let mut rows = statement.query([wanted])?;
        let row = rows.next()?.ok_or_else(|| unpackable(BEFORE, Unpackable::NoBase))?;
        let ValueRef::Blob(packed) = row.get_ref(2)? else {
            break Image::new(row.get_ref(1)?.as_blob()?);
        };
        match row.get_ref(0)? {
            ValueRef::Integer(earlier) if is_difference(packed) => {
                // Numbers only fall, so that even a damaged table has an end.
                if earlier >= wanted {
                    return Err(unpackable(BEFORE, Unpackable::Malformed));
                }
                differences.push((wanted, packed.to_vec()));
                wanted = earlier;
            }
            ValueRef::Integer(_) => break unpacked(packed, None)?,
            before => break unpacked(packed, before.as_blob_or_null()?.map(Image::new).as_ref())?,
        }
    };
    recent.borrow_mut().keep(wanted, &image);
    for (entry, packed) in differences.into_iter().rev() {
        image = unpacked(&packed, Some(&image))?;
        recent.borrow_mut().keep(entry, &image);
    }
    Ok(image)
}

/// Unpacks what a column holds: how many entries before it are needed, and a packed image.
fn unpacked(packed: &[u8], base: Option<&Image>) -> rusqlite::Result<Image> {
    let image = unpack(packed.get(1..).unwrap_or_default(), base.map(Image::bytes));
    image.map(Image::new).map_err(|why| unpackable(PACKED, why))
}

fn is_difference(packed: &[u8]) -> bool {
    needs_base(packed.get(1..).unwrap_or_default())
}

/// An image that cannot be rebuilt is as damaged as one that does not match its checksum.
fn unpackable(column: usize, why: Unpackable) -> rusqlite::Error {
    tracing::debug!(%why, column, "an image of the journal cannot be rebuilt");
    wrong(column, "entries")
}
