//! What people see and type in a real terminal (tmux) and in the real shells.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod board;
mod board_database;
mod board_leaving;
mod completion;
mod demo;
mod manual;
mod overview;
mod paging;
mod terminal;
