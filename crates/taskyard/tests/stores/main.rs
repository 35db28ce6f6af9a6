//! The library's stores, each held against the same contracts, and what an embedding program opens, follows and sees of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod document_store;
mod documents;
mod embedding;
mod examples;
mod file_leases;
mod file_properties;
mod file_store;
mod file_teams;
mod graphs;
mod journal_size;
mod memory_leases;
mod memory_properties;
mod memory_store;
mod memory_teams;
mod missing;
mod notices;
mod opening;
mod overwriting;
mod own_store;
mod process;
mod stream;
mod teaching_store;
mod todos;
