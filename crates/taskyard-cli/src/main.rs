//! The binary `taskyard`: reads what was typed, calls one operation of the `taskyard` library, and shows what came of it.

// Without a feature some of what its commands use has no user.
#![cfg_attr(
    not(all(feature = "agents", feature = "board", feature = "postgres", feature = "server")),
    allow(dead_code)
)]

mod answer_end;
mod arguments;
mod candidates;
mod client_environment_file;
mod commands;
mod completion;
mod context;
mod displays;
mod editor;
mod edits;
mod ended_members;
mod environment;
mod exit;
mod logging;
#[cfg(feature = "agents")]
mod mcp_host;
mod output;
mod places;
mod problem;
mod reopening;
mod run;
#[cfg(feature = "server")]
mod server_host;
#[cfg(feature = "agents")]
mod setup_problem;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run()
}
