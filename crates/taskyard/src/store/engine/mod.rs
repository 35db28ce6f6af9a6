//! What is the same for every list that is files: turns, recovery, changes of two lists, mending.
//!
//! How the files of one list are locked, read and replaced is the business of its [`ListFiles`]; nothing here knows a format.
//! `docs/design/engine.md` has the protocol step by step. Begin reading with `open_list.rs`.

mod journal_care;
mod mending;
mod moves;
mod open_list;
mod open_lists;
mod pair;
mod turns;

pub(super) use journal_care::OpensLists;
pub(super) use moves::finish_noted_moves;
pub(super) use open_list::{BareTurn, ListFiles, OpenList};
pub(super) use open_lists::OpenLists;
pub(super) use pair::{Alongside, PairSide, commit_both};
