//! What people have in their editors: the text of each edit is a file until it is saved, so that nothing that was typed is lost.
//!
//! Nothing here knows what stands in the files.

mod desk;
mod old_texts;
mod sheet;

pub(crate) use desk::Desk;
pub(crate) use old_texts::{OldText, old_texts};
pub(crate) use sheet::Sheet;
