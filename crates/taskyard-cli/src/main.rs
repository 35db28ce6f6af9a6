//! The binary `taskyard`: reads what was typed, calls one operation of the `taskyard` library, and shows what came of it.

mod address_problem;
mod answer_end;
mod arguments;
mod backup_problem;
mod board;
mod candidates;
mod client_environment_file;
mod commands;
mod completion;
mod connections;
mod context;
mod database_problem;
mod displays;
mod editor;
mod ended_members;
mod environment;
mod every_list;
mod exit;
mod interchange_problem;
mod job_problem;
mod logging;
mod mcp_host;
mod open_files;
mod output;
mod places;
mod problem;
mod query_problem;
mod reopening;
mod run;
mod serve;
mod setup_problem;
mod signals;
mod store_problem;
mod team_problem;
mod tokens;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run()
}
