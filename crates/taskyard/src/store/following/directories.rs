//! Watching which lists there are, where each is something in a directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::{Moved, StoreError, UNTOLD, Watch};
use crate::watching::WatchedDirectories;

/// Watches the directories in which lists come and go.
struct DirectoriesWatch<D> {
    directories: D,
    watched: WatchedDirectories,
}

/// Watches directories by the kernel: those that `directories` returns, which are others when some came and went.
pub(crate) fn watch_directories(
    directories: impl Fn() -> Vec<PathBuf> + Send + 'static,
    moved: Moved,
) -> Box<dyn Watch> {
    Box::new(DirectoriesWatch { directories, watched: WatchedDirectories::new(move || moved()) })
}

impl<D: Fn() -> Vec<PathBuf> + Send> Watch for DirectoriesWatch<D> {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        loop {
            let wanted = (self.directories)();
            let paths: Vec<&Path> = wanted.iter().map(PathBuf::as_path).collect();
            if !self.watched.keep_up(&paths) {
                return Ok(Some(UNTOLD));
            }
            // What comes while the watching begins is watched, too.
            if (self.directories)() == wanted {
                return Ok(None);
            }
        }
    }
}
