//! A folder as it was read.

use std::collections::{BTreeMap, HashMap};

use taskyard_core::TaskId;
use taskyard_core::dialect::teaching::{self, Folder};

use crate::store::journal::{FileStamp, Known};

/// What each file looks like without reading it.
pub(super) type Stamps = BTreeMap<String, FileStamp>;

/// A folder as it was read.
#[derive(Clone, Debug)]
pub(super) struct RawFolder {
    pub(super) folder: Folder,
    pub(super) stamps: Stamps,
    pub(super) waiting: HashMap<TaskId, Vec<TaskId>>,
    /// What the journal did not know of files: how those look that had to be read, `None` for those that are gone.
    pub(super) learned: BTreeMap<TaskId, Option<Known>>,
}

impl RawFolder {
    /// Takes what was read, and looks who waits for whom.
    pub(super) fn new(folder: Folder, stamps: Stamps, learned: BTreeMap<TaskId, Option<Known>>) -> Self {
        let waiting = teaching::waiting(&folder);
        Self { folder, stamps, waiting, learned }
    }
}
