//! One `tasks.json` per list as a store, specified in `docs/formats/document.md`.

mod document_files;
mod files;
mod held;
mod rewrite;

pub use document_files::{DocumentOptions, DocumentPaths, open_documents};
pub(crate) use held::{read_locked_document, replace_document};
