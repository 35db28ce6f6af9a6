//! The promises of teams and messages, one function each, for every place they live in. [`crate::team_suite!`] makes a test of each.

pub mod contention;
pub mod following;
pub mod messages;
pub mod rosters;
pub mod seats;
mod team_samples;
mod team_stamp;

pub use team_samples::OpenTeams;
