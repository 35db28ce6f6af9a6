//! The teams that a place holds.

use taskyard_core::Team;

use super::error::TeamError;

/// The teams there are.
#[derive(Debug, Default)]
pub struct TeamsFound {
    /// Those that can be read, by name.
    pub teams: Vec<Team>,
    /// The teams that cannot be read, and why.
    pub unreadable: Vec<UnreadableTeam>,
}

/// A team that cannot be read.
#[derive(Debug)]
pub struct UnreadableTeam {
    /// The name of its directory, as [`taskyard_core::TeamName::directory`] makes it.
    pub directory: String,
    /// Why it cannot be read.
    pub error: TeamError,
}
