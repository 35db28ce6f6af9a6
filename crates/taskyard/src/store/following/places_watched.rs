//! The directories whose changes the kernel tells us of: the list and our memory of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// Watches a list's directory and ours for it, or the nearest directories above them that exist. It does not say what
/// moved.
#[derive(Debug)]
pub(crate) struct PlacesWatched {
    /// None where the kernel watches too much for this user already.
    watcher: Option<RecommendedWatcher>,
    watched: Vec<Watched>,
    /// What has gone from its place since the last look: neither it nor what was below it is watched any more.
    gone: Arc<Mutex<Vec<PathBuf>>>,
}

/// One directory, and which one it was: another may come to stand under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Watched {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl PlacesWatched {
    /// Prepares to call `moved` whenever something was done to a file; nothing is watched before [`Self::keep_up`].
    pub(crate) fn new(moved: impl Fn() + Send + 'static) -> Self {
        let gone: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
        let noted = Arc::clone(&gone);
        let watcher = notify::recommended_watcher(move |event: Result<Event, notify::Error>| {
            if let Ok(event) = &event {
                noted.lock().unwrap_or_else(PoisonError::into_inner).extend(gone_by(event));
            }
            let is_only_a_look = matches!(&event, Ok(event) if event.kind.is_access());
            if !is_only_a_look {
                moved();
            }
        });
        let watcher =
            watcher.inspect_err(|error| tracing::warn!(%error, "changes are looked for instead of being told"));
        Self { watcher: watcher.ok(), watched: Vec::new(), gone }
    }

    /// Watches what there is to watch by now: directories come, go, and come again. Returns whether the kernel will tell of
    /// all of it; it may be told to watch too much.
    pub(crate) fn keep_up(&mut self, places: &[&Path]) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        // A new directory may have the name and even the number of the one that went.
        self.watched.retain(|old| !gone.iter().any(|gone| old.path.starts_with(gone)));
        loop {
            let mut wanted: Vec<Watched> = places.iter().map(|path| nearest(path)).collect();
            wanted.dedup();
            for gone in self.watched.extract_if(.., |old| !wanted.contains(old)) {
                // The kernel stops by itself where the directory is no more.
                let _ = watcher.unwatch(&gone.path);
            }
            let missing: Vec<Watched> = wanted.into_iter().filter(|new| !self.watched.contains(new)).collect();
            if missing.is_empty() {
                return true;
            }
            for new in missing {
                if let Err(error) = watcher.watch(&new.path, RecursiveMode::NonRecursive) {
                    tracing::debug!(%error, path = %new.path.display(), "cannot watch");
                    return false;
                }
                self.watched.push(new);
            }
            // Once more: what was made before the watching began was told to nobody.
        }
    }
}

/// Returns what is no longer where it was; everything, where the kernel had more to tell than it could.
fn gone_by(event: &Event) -> Vec<PathBuf> {
    match event.kind {
        _ if event.need_rescan() => vec![PathBuf::from("/")],
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => event.paths.clone(),
        _ => Vec::new(),
    }
}

fn nearest(path: &Path) -> Watched {
    let path = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    Watched { path: path.to_owned(), identity: identity(path) }
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

    use super::PlacesWatched;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn watching(place: &Path) -> (PlacesWatched, Receiver<()>) {
        let (sender, told) = channel();
        let mut watched = PlacesWatched::new(move || {
            let _ = sender.send(());
        });
        assert!(watched.keep_up(&[place]));
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
        let place = folder.path().join("team");
        for _ in 0..8 {
            fs::create_dir(&place).unwrap();
            let (mut watched, told) = watching(&place);
            fs::remove_dir(&place).unwrap();
            fs::create_dir(&place).unwrap();
            told.recv_timeout(PATIENCE).expect("the removal was told");
            while told.recv_timeout(Duration::from_millis(100)).is_ok() {}
            assert!(watched.keep_up(&[&place]));
            until_told_of(&place.join("mark"), &told);
            fs::remove_dir_all(&place).unwrap();
        }
    }
}
