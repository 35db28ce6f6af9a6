//! A store for folders of small task files, specified in `docs/formats/teaching.md`. Begin with `files.rs`; what it shares
//! with documents is in `dialects/`.

mod files;

pub use files::{TeachingOptions, TeachingPaths, open_teaching};
