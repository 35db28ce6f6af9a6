//! A folder of small task files as a store, specified in `docs/formats/teaching.md`.

mod files;
mod folder_files;

pub use folder_files::{TeachingOptions, TeachingPaths, open_teaching};
