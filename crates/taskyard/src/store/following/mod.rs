//! Following a list whose journal is a database of ours, whatever its files are.

mod directories;
mod followed;
mod watch;

pub(crate) use directories::watch_directories;
pub use followed::Followed;
pub use watch::watch;
