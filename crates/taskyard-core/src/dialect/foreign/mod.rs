//! The formats of other programs, one file each, specified in `docs/formats/foreign.md`. Begin with `formats.rs`.
//!
//! Each parses a text into [`Imported`]: tasks under the ids they have there. `rules/moving/importing.rs` decides which
//! ids they get here and which of them are new; `taskyard::interchange` reads and writes the files.

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
