//! The one door to stdout and stderr.

mod control_keys;
mod door;
mod other_lists;
mod pager;
mod reader;
mod terminal;

pub(crate) use control_keys::QuietControlKeys;
pub(crate) use door::{Output, with_commands};
pub(crate) use other_lists::{OtherLists, quoted};
pub(crate) use pager::Pager;
pub(crate) use reader::when_reader_leaves;
pub(crate) use terminal::{ColorChoice, Terminal, local_zone};
