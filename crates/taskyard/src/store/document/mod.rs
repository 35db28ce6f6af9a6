//! One `tasks.json` per list as a store, specified in `docs/formats/document.md`.

mod changing;
mod files;
mod form;
mod held;
mod overwriting;
mod rewrite;

pub use form::{DocumentOptions, DocumentPlace, open_documents};
pub(crate) use held::{read_locked_document, replace_document};
