//! Registering with agents, and the editing of their files.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod config_edit;
mod registering;
