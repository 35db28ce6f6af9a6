//! What went wrong in the library, as people and programs learn of it: see [`taskyard_core::problem`].

#[cfg(feature = "teams")]
mod backups;
#[cfg(feature = "sqlite")]
mod databases;
mod errors;
#[cfg(feature = "sqlite")]
mod interchange;
#[cfg(feature = "sqlite")]
mod jobs;
mod stores;
mod teams;
mod way_back;

pub use errors::advice;
pub use way_back::with_way_back;
