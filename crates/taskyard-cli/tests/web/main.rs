//! The API over HTTP through the binary, over real sockets: what it answers, whom it lets in, what it withstands, and how events come.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod answers;
mod contract;
mod encryption;
mod events;
mod foreign_programs;
mod guarding;
mod limits;
mod many_streams;
mod restarting;
mod served;
mod stores;
mod tokens;
