//! A store for folders of small task files, specified in `docs/formats/teaching.md`.

mod files;

pub use files::{TeachingOptions, TeachingPaths, open_teaching};
