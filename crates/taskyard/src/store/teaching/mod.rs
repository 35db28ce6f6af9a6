//! A folder of small task files as a store, specified in `docs/formats/teaching.md`.

mod files;
mod form;
mod raw_folder;
mod replacing;
mod yielding;

pub use form::{TeachingOptions, TeachingPlace, open_teaching};
