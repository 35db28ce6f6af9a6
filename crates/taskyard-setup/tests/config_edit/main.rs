//! Entries of ours in other programs' configuration files: the rest of the file stays as it is, byte for byte.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod json;
mod random_json;
mod toml;
