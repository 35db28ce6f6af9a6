//! A folder as it was read.

use std::collections::{BTreeMap, HashMap};

use taskyard_core::TaskId;
use taskyard_core::dialect::teaching::{self, Folder};

use crate::store::sidecar::FileStamp;

/// What each file looks like without reading it.
pub(super) type Stamps = BTreeMap<String, FileStamp>;

/// A folder as it was read.
#[derive(Clone, Debug)]
pub(super) struct RawFolder {
    pub(super) folder: Folder,
    pub(super) stamps: Stamps,
    pub(super) waiting: HashMap<TaskId, Vec<TaskId>>,
}

impl RawFolder {
    /// Takes what was read, and looks who waits for whom.
    pub(super) fn new(folder: Folder, stamps: Stamps) -> Self {
        let waiting = teaching::waiting(&folder);
        Self { folder, stamps, waiting }
    }
}
