//! Being told by the system what happens in directories.
//!
//! A process has one instance of the kernel's watching, whatever it watches: there may be 128 of them for all programs of a user. A watcher
//! is called when something happens, or asks when it wants to know.

mod happened;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod waking;
mod watched_directories;
mod watchers;

pub(crate) use happened::{Deed, Happened};
#[cfg(target_os = "linux")]
pub(crate) use kernel::{DirectoryWatch, watch};
pub use watched_directories::WatchedDirectories;
pub use watchers::Moved;
pub(crate) use watchers::{Watchers, Watching};

#[cfg(not(target_os = "linux"))]
mod told_by_crate;
#[cfg(not(target_os = "linux"))]
mod untold;
#[cfg(not(target_os = "linux"))]
pub(crate) use untold::{DirectoryWatch, watch};
