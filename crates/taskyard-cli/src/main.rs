//! The binary `taskyard`: parses the command line, calls one operation of the `taskyard` library, and prints the
//! result.

// Without a feature, some shared code is unused.
#![cfg_attr(
    not(all(feature = "agents", feature = "board", feature = "postgres", feature = "server")),
    allow(dead_code)
)]

mod arguments;
mod commands;
mod completion;
mod context;
mod displays;
mod edited_texts;
mod ended_agents;
mod environment;
mod exit;
mod output;
mod places;
mod repository;
mod run;
#[cfg(feature = "server")]
mod server_host;
mod shorthand;
mod template_files;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run()
}
