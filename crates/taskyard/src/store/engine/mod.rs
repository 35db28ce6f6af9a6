//! What is the same for every list that is files: turns, recovery, commits of one list and of two, mending.
//!
//! How the files of one list are locked, read and replaced is the business of its [`ListFiles`]; nothing here knows a format.
//! `docs/design/engine.md` has the protocol step by step. Begin reading with `open_list.rs`.

mod commit;
mod journal_care;
mod open_list;
mod open_lists;
mod pair;
mod turns;

pub(super) use commit::{Alongside, ListWriter, commit, commit_leases};
pub(super) use journal_care::OpensLists;
pub(super) use open_list::{BareTurn, ListFiles, OpenList};
pub(super) use open_lists::OpenLists;
pub(super) use pair::commit_both;
pub(super) use turns::finish_noted_moves;
