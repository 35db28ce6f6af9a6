//! Following a list whose journal is a database of ours, whatever its files are.

mod followed;
mod watch;

pub use followed::Followed;
pub use watch::watch;
