//! Directories that come and go, watched for a caller that is called when something happens in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::kernel::DirectoryWatch;
#[cfg(not(target_os = "linux"))]
use super::told_by_crate::{DirectoryWatch, watch_and_tell};
use super::waking::watch_and_tell;

/// Watches directories, or the nearest ones above them that exist. It does not say what moved.
pub struct WatchedDirectories {
    moved: Arc<dyn Fn() + Send + Sync>,
    watched: Vec<Watched>,
}

/// One directory, and which one it was: another may come to stand under its name.
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
    /// Prepares to call `moved` whenever something was done to a file; nothing is watched before [`Self::keep_up`].
    pub fn new(moved: impl Fn() + Send + Sync + 'static) -> Self {
        Self { moved: Arc::new(moved), watched: Vec::new() }
    }

    /// Watches what there is to watch by now: directories come, go, and come again. Returns whether the kernel will tell of
    /// all of it; it may be told to watch too much.
    pub fn keep_up(&mut self, directories: &[&Path]) -> bool {
        // A new directory may have the name and even the number of the one that went.
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
            // Once more: what was made before the watching began was told to no watcher.
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

    /// Waits until everything that has happened so far was told.
    fn until_told_of(mark: &Path, told: &Receiver<()>) {
        fs::write(mark, "").unwrap();
        told.recv_timeout(PATIENCE).expect("the mark was told");
        while told.recv_timeout(Duration::from_millis(100)).is_ok() {}
    }

    /// File systems give the number of a removed directory to the next one, so it looks like the old one.
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
