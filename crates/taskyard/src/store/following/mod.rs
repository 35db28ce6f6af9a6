//! Following a list whose journal is a database of ours, whatever its files are.

mod followed;
mod places_watched;
mod watch;

pub(in crate::store) use followed::Followed;
pub(in crate::store) use watch::watch;
