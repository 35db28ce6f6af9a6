//! Watches directories that may be created and removed, with a callback for changes in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::watching::inotify::DirectoryWatch;
use crate::watching::inotify_thread::watch_and_tell;
#[cfg(not(target_os = "linux"))]
use crate::watching::notify_crate::{DirectoryWatch, watch_and_tell};

/// Watches directories, or their nearest existing ancestors. Notifications do not say what changed.
pub struct WatchedDirectories {
    moved: Arc<dyn Fn() + Send + Sync>,
    watched: Vec<Watched>,
}

/// A watched directory with its identity, since another may take its name.
struct Watched {
    directory: Directory,
    watch: DirectoryWatch,
}

#[derive(Debug, PartialEq, Eq)]
struct Directory {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl WatchedDirectories {
    /// Prepares to call `moved` whenever a file is changed; watching starts with [`Self::keep_up`].
    pub fn new(moved: impl Fn() + Send + Sync + 'static) -> Self {
        Self { moved: Arc::new(moved), watched: Vec::new() }
    }

    /// Updates the watches, since directories may have been created or removed. Returns whether the kernel will report
    /// all changes; it may report more than requested.
    pub fn keep_up(&mut self, directories: &[&Path]) -> bool {
        // A new directory may have the name and even the inode of the removed one.
        self.watched.retain(|old| !old.watch.is_gone());
        loop {
            let mut wanted: Vec<Directory> = directories.iter().map(|path| nearest(path)).collect();
            wanted.dedup();
            self.watched.retain(|old| wanted.contains(&old.directory));
            wanted.retain(|new| self.watched.iter().all(|old| old.directory != *new));
            if wanted.is_empty() {
                return true;
            }
            for directory in wanted {
                let moved = Arc::clone(&self.moved);
                match watch_and_tell(&directory.path, Box::new(move || moved())) {
                    Ok(watch) => self.watched.push(Watched { directory, watch }),
                    Err(error) => {
                        let path = directory.path.display();
                        tracing::debug!(%error, %path, "changes are looked for instead of being told");
                        return false;
                    }
                }
            }
            // Check again: what was created before watching began caused no notification.
        }
    }
}

impl std::fmt::Debug for WatchedDirectories {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directories: Vec<&Directory> = self.watched.iter().map(|watched| &watched.directory).collect();
        formatter.debug_struct("WatchedDirectories").field("watched", &directories).finish_non_exhaustive()
    }
}

fn nearest(path: &Path) -> Directory {
    let path = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    Directory { path: path.to_owned(), identity: identity(path) }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::WatchedDirectories;

    const PATIENCE: Duration = Duration::from_secs(300);

    fn watching(directory: &Path) -> (WatchedDirectories, Receiver<()>) {
        let (sender, told) = channel();
        let mut watched = WatchedDirectories::new(move || {
            let _ = sender.send(());
        });
        assert!(watched.keep_up(&[directory]));
        (watched, told)
    }

    /// Waits until all earlier changes were reported.
    fn until_told_of(mark: &Path, told: &Receiver<()>) {
        fs::write(mark, "").unwrap();
        told.recv_timeout(PATIENCE).expect("the mark was told");
        while told.recv_timeout(Duration::from_millis(100)).is_ok() {}
    }

    /// File systems reuse the inode of a removed directory, so a new one looks the same.
    #[test]
    fn a_directory_that_was_removed_and_made_again_is_watched_again() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("team");
        for _ in 0..8 {
            fs::create_dir(&directory).unwrap();
            let (mut watched, told) = watching(&directory);
            fs::remove_dir(&directory).unwrap();
            fs::create_dir(&directory).unwrap();
            told.recv_timeout(PATIENCE).expect("the removal was told");
            while told.recv_timeout(Duration::from_millis(100)).is_ok() {}
            assert!(watched.keep_up(&[&directory]));
            until_told_of(&directory.join("mark"), &told);
            fs::remove_dir_all(&directory).unwrap();
        }
    }
}
