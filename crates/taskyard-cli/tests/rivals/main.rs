//! Other programs beside ours on the same files: clients, scripts, suspended processes, stuck locks, files of odd kinds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod claim_rivals;
mod client_locks;
mod document_rivals;
mod lease_clocks;
mod live_list;
mod lock_rivals;
mod mirroring;
mod outside_writers;
mod special_files;
mod stale_writers;
mod stuck_locks;
mod suspension;
mod taken_names;
mod teaching_rivals;
mod watching;
