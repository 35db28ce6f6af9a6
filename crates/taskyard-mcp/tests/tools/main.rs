//! The tools: recorded conversations of the client, schemas, and servers that a program embeds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod advertised_schemas;
mod busy;
mod calls;
mod conformance;
mod dialect_tools;
mod embedded;
mod reading_once;
