//! A folder of small task files as a store, specified in `docs/formats/teaching.md`.

mod files;
mod form;

pub use form::{TeachingOptions, TeachingPlace, open_teaching};
