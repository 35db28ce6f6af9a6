//! What stores for files in other dialects have in common. Each dialect implements [`DialectFiles`].
//!
//! The journal holds native images, and for each task the form last seen in the files. If a task's form differs,
//! another program changed it, and it is read from the files. See `docs/design/dialects.md`; begin reading with
//! `dialect_files.rs`.

mod dialect_files;
mod finishing;
mod looking;
mod store;
mod writer;

pub(super) use dialect_files::{Changes, DialectFiles, KnownFiles, Loaded, lock_in_time};
pub(super) use finishing::clear_away;
pub(super) use store::DialectStore;
