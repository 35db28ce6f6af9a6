//! The formats of other programs, one file each, specified in `docs/formats/foreign.md`.
//!
//! Each is read from its text into [`Imported`]: tasks under the ids they have there. Which ids they get here, and what is new, is
//! decided in `rules/moving/importing.rs`; files are the caller's business.

pub mod backlog;
pub mod beads;
pub mod taskmaster;
pub mod taskwarrior;

pub mod checklists;
pub mod csv_and_jsonl;
mod formats;
mod imported;
pub mod todo_write_files;

pub use formats::{ExportFormat, ImportFormat, guess};
pub use imported::{BadSource, Imported, Loss, Mapping};
