//! Entries of ours in the configuration files of other programs: adding them and taking them out, as text in and text out.
//!
//! Every change is made of insertions alone, or of deletions alone, so that comments, order, indentation and line ends of
//! everything else stay as they are, byte for byte. What a change means is checked by reading the text again. Nothing here
//! knows where such files are or who reads them.

pub mod json;
pub mod toml;
pub mod yaml;

mod additions;
mod changed_lines;
mod entry;
mod text_layout;
mod unfit;

pub use additions::Additions;
pub use changed_lines::{ChangedLine, changed_lines};
pub use entry::{Added, Entry, What};
pub use unfit::Unfit;
