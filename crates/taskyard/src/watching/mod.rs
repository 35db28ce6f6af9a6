//! Notifications from the operating system about changes in directories.
//!
//! A process uses a single inotify instance, since all programs of a user share 128 of them. A watcher has a callback
//! or polls. Begin reading with `watched_directories.rs`.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(target_os = "linux")]
mod inotify_thread;
#[cfg(not(target_os = "linux"))]
mod no_watch;
#[cfg(not(target_os = "linux"))]
mod notify_crate;
mod watched_directories;
mod watchers;

#[cfg(target_os = "linux")]
pub(crate) use inotify::{DirectoryWatch, watch};
pub use watched_directories::WatchedDirectories;
pub use watchers::Moved;
pub(crate) use watchers::{Deed, Happened, Watchers, Watching};

#[cfg(not(target_os = "linux"))]
pub(crate) use no_watch::{DirectoryWatch, watch};
