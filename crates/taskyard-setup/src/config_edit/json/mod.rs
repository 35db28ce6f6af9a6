//! Entries in JSON files, with or without comments and trailing commas.

mod adding;
mod container;
mod document;
mod meaning;
mod removing;
mod writing;

pub use adding::add;
pub use document::read;
pub use removing::remove;
