//! Processes that are killed, calls that fail, disks that are full, journals that are damaged: nothing acknowledged is lost.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod crash;
mod damaged_journal;
mod document_crash;
mod faults;
mod long_journal;
mod power_loss;
mod random_kills;
mod whole_commits;
