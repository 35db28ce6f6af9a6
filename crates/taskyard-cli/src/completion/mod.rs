//! What could stand where the cursor is: the shell asks, with every word so far, and we answer with what there is.

mod answering;
mod candidates;
mod command_line;
mod kinds;
mod scripts;

pub(crate) use answering::{answer, globals, is_asked};
pub(crate) use scripts::script;
