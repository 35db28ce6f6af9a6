//! Entries of ours in the configuration files of other programs: adding them and taking them out, as text in and text out.
//!
//! Every change is made of insertions alone, or of deletions alone, so that comments, order, indentation and line ends of
//! everything else stay as they are, byte for byte. What a change means is checked by reading the text again. Nothing here
//! knows where such files are or who reads them.

mod changed_lines;
mod config_entry;
pub mod json_entries;
pub mod toml_entries;
pub mod yaml_entries;

pub use changed_lines::{ChangedLine, changed_lines};
pub use config_entry::{Added, Additions, Entry, Unfit, What};
