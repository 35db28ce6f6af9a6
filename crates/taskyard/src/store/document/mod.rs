//! One `tasks.json` per list as a store, specified in `docs/formats/document.md`.

mod changing;
mod files;
mod form;

pub use form::{DocumentOptions, DocumentPlace, open_documents};
