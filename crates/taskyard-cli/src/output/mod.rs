//! All output to stdout and stderr. Begin with `printing.rs`.

mod printing;
mod terminal;

pub(crate) use printing::{OtherLists, Output, quoted, with_commands};
pub(crate) use terminal::{ColorChoice, Pager, QuietControlKeys, Terminal, local_zone, when_reader_leaves};
