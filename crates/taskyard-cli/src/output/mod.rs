//! All output to stdout and stderr: colours, widths, JSON and the pager. Begin with `printing.rs`. No other module of the
//! program prints.

mod printing;
mod terminal;

pub(crate) use printing::{OtherLists, Output, quoted, with_commands};
pub(crate) use terminal::{ColorChoice, Pager, QuietControlKeys, Terminal, local_zone, when_reader_leaves};
