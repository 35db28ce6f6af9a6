//! The commands, grouped by subject. The doc comment on a command's arguments is its help. Begin with `command.rs`, which
//! lists every command; `ready.rs` is a short one to read. A command calls one operation and prints its answer.

#[cfg(not(all(feature = "agents", feature = "board", feature = "postgres", feature = "server")))]
mod absent;
#[cfg(feature = "board")]
mod board;
mod claim;
mod claim_several;
mod command;
mod create;
mod create_batch;
#[cfg(feature = "postgres")]
mod db;
mod delete;
mod demo;
mod dependencies;
mod diff;
mod edit_plan;
pub(crate) mod gc;
mod help;
mod history;
#[cfg(feature = "agents")]
mod hook;
mod import_export;
mod job;
mod job_output;
mod list;
mod lists;
mod maintenance;
mod man;
#[cfg(feature = "agents")]
pub(crate) mod mcp;
mod messages;
mod moving_lists;
mod overview;
mod ready;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "agents")]
pub(crate) mod setup;
mod several;
mod show;
mod status;
mod team;
mod template;
mod undo_and_restore;
mod update;
mod where_and_use;
pub(crate) mod work;
mod worktree_of_task;
mod worktrees;

pub(crate) use command::{Arguments, Command};
pub(crate) use help::{grouped, meant_by, topic};
pub(crate) use job::background;
pub(crate) use overview::{StatusLine, overview};
