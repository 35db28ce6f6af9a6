//! The contract of a store of teams, one function per promise. [`crate::team_suite!`] makes a test of each. Begin with
//! `rosters.rs`.

pub mod contention;
pub mod following;
pub mod messages;
pub mod rosters;
pub mod seats;
mod team_samples;
mod team_stamp;

pub use team_samples::OpenTeams;
