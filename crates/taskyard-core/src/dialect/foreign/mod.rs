//! The formats of other programs, one file each, specified in `docs/formats/foreign.md`.
//!
//! Each is read from its text into [`Imported`]: tasks under the ids they have there. Which ids they get here, and what is new, is
//! decided in `rules/moving/importing.rs`; files are the caller's business.

pub mod backlog;
pub mod beads;
pub mod csv;
pub mod jsonl;
pub mod markdown;
pub mod taskmaster;
pub mod taskwarrior;
pub mod todos;

mod formats;
mod front_matter;
mod guessing;
mod imported;
mod objects;

pub use formats::{ExportFormat, ImportFormat};
pub use guessing::guess;
pub use imported::{BadSource, Imported, Loss, Mapping};
