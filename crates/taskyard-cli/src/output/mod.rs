//! The one door to stdout and stderr.

mod door;
mod json;
mod terminal;

pub(crate) use door::Output;
pub(crate) use json::{EntryShape, Ids, Shapes};
pub(crate) use terminal::{ColorChoice, Terminal};
