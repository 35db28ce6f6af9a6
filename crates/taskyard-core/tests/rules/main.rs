//! The rules and formats that need no file: dialects, graphs, the checking of tools' input, the list of tools.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod dialects;
mod graphs;
mod input_checks;
mod tool_list;
