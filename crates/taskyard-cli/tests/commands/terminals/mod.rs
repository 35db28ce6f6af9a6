//! What people see and type in a real terminal (tmux) and in the real shells.
#![cfg(unix)]

mod board;
mod board_database;
mod board_leaving;
mod completion;
mod demo;
mod manual;
mod overview;
mod paging;
mod terminal;
