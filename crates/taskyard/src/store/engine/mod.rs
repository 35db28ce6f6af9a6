//! What all file-backed lists share: turns, recovery, commits to one list or two, and mending.
//!
//! How the files of a list are locked, read and replaced is up to its [`ListFiles`]; this module knows no file format.
//! `docs/design/engine.md` describes the protocol step by step. Begin reading with `open_list.rs`.

mod commit;
mod open_list;
mod turns;

pub(super) use commit::{Alongside, ListWriter, commit, commit_both, commit_leases};
pub(super) use open_list::{BareTurn, ListFiles, OpenList, OpenLists};
pub(super) use turns::{OpensLists, finish_noted_moves};
