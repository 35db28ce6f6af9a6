//! Being told that something about teams has moved.

use taskyard::core::TeamName;
use taskyard::teams::TeamWatch;

use crate::listening::Following;

/// Calls the follower whenever something may have moved, until it is dropped.
pub(super) struct PostgresTeamWatch(pub(super) Following);

impl TeamWatch for PostgresTeamWatch {
    fn keep_up(&mut self, _teams: &[TeamName]) -> bool {
        self.0.is_told()
    }
}
