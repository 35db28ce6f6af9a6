//! The binary `taskyard`: reads what was typed, calls one operation of the `taskyard` library, and shows what came of it.

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
mod mcp_host;
mod output;
mod places;
mod problem;
mod reopening;
mod run;
#[cfg(feature = "server")]
mod server_host;
mod setup_problem;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run()
}
