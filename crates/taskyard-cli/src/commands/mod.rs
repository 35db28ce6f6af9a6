//! One file per command. The doc comment on a command's arguments is its help.

#[cfg(not(all(feature = "agents", feature = "board", feature = "postgres", feature = "server")))]
mod absent;
mod adopt;
mod backup;
#[cfg(feature = "board")]
mod board;
mod cancel;
mod claim;
mod claim_several;
mod clear;
mod command;
mod completions;
mod create;
mod create_batch;
#[cfg(feature = "postgres")]
mod db;
mod delete;
mod demo;
mod depend;
mod doctor;
mod done;
mod edit;
mod examples;
mod export;
mod gc;
#[cfg(feature = "postgres")]
mod grant;
mod graph;
mod groups;
mod history;
#[cfg(feature = "agents")]
mod hook;
#[cfg(feature = "agents")]
mod hook_event;
mod import;
mod inbox;
mod job;
mod list;
mod lists;
mod lists_action;
mod man;
#[cfg(feature = "agents")]
mod mcp;
mod merge;
mod move_list;
mod note;
mod overview;
mod prime;
mod ready;
mod release;
mod renew;
mod reopen;
mod restore;
mod restore_from;
mod search;
mod send;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "agents")]
mod session_end;
#[cfg(feature = "agents")]
mod session_start;
#[cfg(feature = "agents")]
mod setup;
mod several;
mod show;
mod start;
mod stats;
mod statusline;
mod team;
mod todo;
#[cfg(feature = "server")]
mod token;
mod topics;
mod trust;
mod undepend;
mod undo;
mod update;
mod use_list;
mod watch;
mod where_is;
mod whoami;
mod work;

pub(crate) use command::{Arguments, Command};
pub(crate) use groups::{grouped, meant_by};
pub(crate) use job::background;
pub(crate) use overview::overview;
pub(crate) use statusline::StatusLine;
pub(crate) use topics::topic;
