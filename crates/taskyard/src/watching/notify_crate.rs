//! Watches directories through the `notify` crate.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A watched directory; dropping it ends the watch.
#[derive(Debug)]
pub(super) struct DirectoryWatch {
    is_gone: Arc<AtomicBool>,
    _watcher: RecommendedWatcher,
}

impl DirectoryWatch {
    /// Returns whether the directory was removed or moved.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

/// Starts watching a directory, and calls `notify` whenever something happens there.
pub(super) fn watch_and_tell(path: &Path, notify: Box<dyn Fn() + Send + Sync>) -> io::Result<DirectoryWatch> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let (gone, directory) = (Arc::clone(&is_gone), path.to_owned());
    let watcher = notify::recommended_watcher(move |event: Result<Event, notify::Error>| {
        if let Ok(event) = &event {
            let is_away = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
            let is_lost =
                event.need_rescan() || (is_away && event.paths.iter().any(|path| directory.starts_with(path)));
            gone.fetch_or(is_lost, Ordering::Relaxed);
        }
        let is_only_a_look = matches!(&event, Ok(event) if event.kind.is_access());
        if !is_only_a_look {
            notify();
        }
    });
    let mut watcher = watcher.map_err(io::Error::other)?;
    watcher.watch(path, RecursiveMode::NonRecursive).map_err(io::Error::other)?;
    Ok(DirectoryWatch { is_gone, _watcher: watcher })
}
