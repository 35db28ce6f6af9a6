//! What is remembered of the seats of teams in files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use taskyard_core::{AgentName, Team};

use super::store::FileTeams;
use super::team_paths;
use crate::teams::{SeatMemory, SeatRecord, SeatTaken, TeamError};

impl SeatMemory for FileTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        self.remembered(|memory| memory.seats(&self.key(team)))
    }

    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError> {
        let rows = self.remembered(|memory| memory.seats_of(agent.as_str()))?;
        let taken = rows.into_iter().filter_map(|(key, member)| {
            let (place, made) = team_paths::parse_key(&key)?;
            Some(SeatTaken { directory: self.directory_at(place)?, made, member })
        });
        Ok(taken.collect())
    }

    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError> {
        let key = self.key(team);
        self.remember(|memory| memory.change_seat(&key, member, change))
    }
}

impl FileTeams {
    /// Returns the name of the team directory that our memory knows by this path; none where it is of another root.
    fn directory_at(&self, place: &Path) -> Option<String> {
        let root = &self.options.root;
        let is_here = place.parent() == Some(root) || place.parent() == fs::canonicalize(root).ok().as_deref();
        let directory = match is_here {
            true => place.file_name()?.to_owned(),
            // The directory of a team may be a link to another place.
            false => {
                let leads_there = |entry: &fs::DirEntry| fs::canonicalize(entry.path()).is_ok_and(|path| path == place);
                fs::read_dir(root).ok()?.flatten().find(leads_there)?.file_name()
            }
        };
        Some(directory.to_string_lossy().into_owned())
    }
}
