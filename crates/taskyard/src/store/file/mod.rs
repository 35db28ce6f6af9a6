//! Claude Code's own task files as a store. `docs/design/commit.md` and `docs/design/locks.md` describe the design.
//!
//! Begin reading with `commit.rs`; `recovery.rs` handles dead writers, power losses and conflicting programs.

mod client_files;
mod commit;
mod departing;
mod flush;
mod list_files;
mod litter;
mod marks;
mod reading;
mod recovery;
mod store;
mod txn;
mod writer;

pub use store::{FileStore, FileStoreOptions};
