//! Following a list whose journal is a database of ours, whatever its files are.

mod followed;
mod places_watched;
mod watch;

pub use followed::Followed;
pub(crate) use places_watched::PlacesWatched;
pub use watch::watch;
