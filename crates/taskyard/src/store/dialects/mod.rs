//! Lists kept in the files of another dialect, with our memory of them beside: what such stores have in common.
//!
//! The journal holds native images, and for each task the form it was last given in the files. A task whose form is still that
//! one is the task of the image; one whose form is another was changed by another program, and is read from its form. How a list
//! is locked, read and written is each store's own business ([`DialectFiles`]). `docs/design/dialects.md` says why it is done so.

mod committing;
mod copying;
mod dialect_files;
mod dialect_turn;
mod finishing;
mod list_files;
mod looking;
mod open_list;
mod present_tasks;
mod recording;
mod rewrites;
mod seen_list;
mod store;
mod taken_names;
mod temporary_files;
mod two_lists;
mod writer;
mod writer_contract;

pub(super) use dialect_files::{Changes, DialectFiles, KnownFiles, Loaded};
pub(super) use dialect_turn::lock_in_time;
pub(super) use store::DialectStore;
pub(super) use temporary_files::clear_away;
