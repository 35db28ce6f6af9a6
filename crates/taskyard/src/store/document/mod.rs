//! A store with one `tasks.json` per list, specified in `docs/formats/document.md`. Begin reading with `documents.rs`.

mod documents;
mod files;
mod held;

pub use documents::{DocumentOptions, DocumentPaths, open_documents};
pub(crate) use held::{read_locked_document, replace_document};
