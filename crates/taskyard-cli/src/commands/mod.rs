//! One file per command. The doc comment on a command's arguments is its help.

mod adopt;
mod answers;
mod cancel;
mod clear;
mod command;
mod completions;
mod create;
mod delete;
mod demo;
mod depend;
mod doctor;
mod done;
mod gc;
mod graph;
mod history;
mod hook;
mod list;
mod lists;
mod man;
mod merge;
mod ready;
mod reopen;
mod restore;
mod search;
mod show;
mod start;
mod stats;
mod trust;
mod undepend;
mod undo;
mod update;
mod use_list;
mod watch;
mod where_is;

pub(crate) use command::Arguments;
