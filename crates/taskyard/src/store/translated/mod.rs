//! Lists kept in the files of another dialect, with our memory of them beside: what such stores have in common.
//!
//! The journal holds native images, and for each task the form it was last given in the files. A task whose form is still that
//! one is the task of the image; one whose form is another was changed by another program, and is read from its form. How a list
//! is locked, read and written is each store's own business ([`Form`]). `docs/design/translated.md` says why it is done so.

mod collision;
mod commit;
mod copying;
mod form;
mod handle;
mod litter;
mod looking;
mod mending;
mod moves;
mod observe;
mod pair;
mod present;
mod random_number;
mod repair;
mod rewriting;
mod sight;
mod store;
mod turn;
mod writer;
mod writer_contract;

pub(super) use form::{Changes, Form, Loaded};
pub(super) use litter::clear_away;
pub(super) use random_number::random_number;
pub(super) use store::TranslatedStore;
pub(super) use turn::lock_in_time;
