//! Claude Code's own task files as a store. `docs/design/commit.md` and `docs/design/locks.md` say how it works and why.

mod client_files;
mod copying;
mod departing;
mod flush;
mod handle;
mod marks;
mod reading;
mod recovery;
mod store;
mod writing;

pub use store::{FileStore, FileStoreOptions};
