//! The directories whose changes the kernel tells us of: the list and our memory of it.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Watches a list's directory and ours for it, or the nearest directories above them that exist. It does not say what
/// moved.
#[derive(Debug)]
pub(crate) struct PlacesWatched {
    /// None where the kernel watches too much for this user already.
    watcher: Option<RecommendedWatcher>,
    watched: Vec<Watched>,
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
        let watcher = notify::recommended_watcher(move |event: Result<notify::Event, notify::Error>| {
            let is_only_a_look = matches!(&event, Ok(event) if event.kind.is_access());
            if !is_only_a_look {
                moved();
            }
        });
        let watcher =
            watcher.inspect_err(|error| tracing::warn!(%error, "changes are looked for instead of being told"));
        Self { watcher: watcher.ok(), watched: Vec::new() }
    }

    /// Watches what there is to watch by now: directories come, go, and come again. Returns whether the kernel will tell of
    /// all of it; it may be told to watch too much.
    pub(crate) fn keep_up(&mut self, places: &[&Path]) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
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
