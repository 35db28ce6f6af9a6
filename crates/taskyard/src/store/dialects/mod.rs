//! Lists kept in the files of another dialect, with our memory of them beside: what such stores have in common.
//!
//! The journal holds native images, and for each task the form it was last given in the files. A task whose form is still that
//! one is the task of the image; one whose form is another was changed by another program, and is read from its form. How a list
//! is locked, read and written is each store's own business ([`DialectFiles`]). `docs/design/dialects.md` says why it is done so.

mod dialect_files;
mod finishing;
mod list_files;
mod looking;
mod open_list;
mod recording;
mod seen_list;
mod store;
mod temporary_files;
mod writer;

pub(super) use dialect_files::{Changes, DialectFiles, KnownFiles, Loaded};
pub(super) use open_list::lock_in_time;
pub(super) use store::DialectStore;
pub(super) use temporary_files::clear_away;
