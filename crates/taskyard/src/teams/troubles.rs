//! What is wrong with teams.

use super::TeamError;
use super::care::{Mended, TeamTrouble};
use super::register::Teams;

impl Teams {
    /// Looks for files that cannot be read, where teams have files, and for members whose process has ended; by path and name.
    pub fn find_trouble(&self) -> Result<Vec<TeamTrouble>, TeamError> {
        let found = self.look_around()?;
        let mut ghosts = Vec::new();
        for team in &found.teams {
            let is_member = |name: &str| name != team.lead();
            ghosts.extend(self.ghosts(team)?.into_iter().filter(|ghost| is_member(&ghost.name)).map(|ghost| {
                TeamTrouble::Ghost { team: team.name.to_string(), name: ghost.name, process: ghost.process }
            }));
        }
        let mut troubles = self.care().map_or_else(Vec::new, |care| care.find_trouble(found));
        troubles.append(&mut ghosts);
        Ok(troubles)
    }

    /// Mends what is wrong with a file, as [`super::TeamFileCare::mend`] does.
    pub fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError> {
        self.care().map_or(Ok(Mended::BeyondMending), |care| care.mend(trouble))
    }
}
