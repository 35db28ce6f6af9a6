//! Adds our entry to configuration files of other programs and removes it again. Text goes in, text comes out. Begin with
//! `config_entry.rs`; each file format has a file.
//!
//! A change consists of insertions alone or of deletions alone, so everything else stays as it was, byte for byte: comments,
//! order, indentation and line ends. The meaning of the result is checked by parsing it again. Where such files are, and which
//! program reads them, is decided elsewhere (`targets.rs`).

mod changed_lines;
mod config_entry;
pub mod json_entries;
pub mod toml_entries;
pub mod yaml_entries;

pub use changed_lines::{ChangedLine, changed_lines};
pub use config_entry::{Added, Additions, Entry, Unfit, What};
