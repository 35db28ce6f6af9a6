//! Being told that something may have been queued: by the kernel, where the machine's database moves.

use std::path::PathBuf;
use std::time::Duration;

use super::{NoticeError, NoticeWatch};
use crate::machine::Machine;
use crate::store::{Moved, UNTOLD};
use crate::watching::WatchedDirectories;

/// Where the kernel tells that the database moved, it is looked at this often all the same, should the kernel have lost count.
const TOLD: Duration = Duration::from_secs(60);

/// Watches the machine's database.
#[derive(Debug)]
pub(super) struct DatabaseWatch {
    data: PathBuf,
    watched: WatchedDirectories,
}

impl DatabaseWatch {
    pub(super) fn of(data: PathBuf, moved: Moved) -> Self {
        // There is nothing to watch before there is a directory. Where it cannot be made, nothing will be queued either.
        if let Err(error) = Machine::open(&data) {
            tracing::debug!(%error, "no notices can be queued");
        }
        Self { data, watched: WatchedDirectories::new(move || moved()) }
    }
}

impl NoticeWatch for DatabaseWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError> {
        Ok(Some(if self.watched.keep_up(&[&self.data]) { TOLD } else { UNTOLD }))
    }
}
