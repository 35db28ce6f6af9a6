//! The team files: finding, creating, changing and removing them.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use taskyard_core::{AgentName, BadListName, ClientVersion, LEAD, ListId, Member, Rules, Team, TeamName};

use super::team_file;
use crate::failpoint::reach;
use crate::teams::files::file_teams;
use crate::teams::files::file_teams::FileTeams;
use crate::teams::messages::random_id;
use crate::teams::{Added, Roster, SeatMemory, SeatRecord, SeatTaken, TeamError, TeamsFound, UnreadableTeam};

/// The prefix of a team directory that is being removed.
const REMOVED: &str = ".taskyard-deleted-";

impl Roster for FileTeams {
    fn teams(&self) -> Result<TeamsFound, TeamError> {
        let root = &self.options.root;
        let directories = match fs::read_dir(root) {
            Ok(directories) => directories,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TeamsFound::default()),
            Err(error) => return Err(TeamError::io("cannot list", root)(error)),
        };
        let mut found = TeamsFound::default();
        for entry in directories {
            let entry = entry.map_err(TeamError::io("cannot list", root))?;
            let directory = entry.file_name().to_string_lossy().into_owned();
            if directory.starts_with('.') {
                continue;
            }
            let path = entry.path().join("config.json");
            self.bring_back_emptied(&path);
            match team_file::read(&path) {
                Ok(team) => found.teams.extend(team),
                Err(error) => found.unreadable.push(UnreadableTeam { directory, error }),
            }
        }
        found.teams.sort_by(|one, two| one.name.as_str().cmp(two.name.as_str()));
        found.unreadable.sort_by(|one, two| one.directory.cmp(&two.directory));
        Ok(found)
    }

    fn may_be_any(&self) -> bool {
        // A caller that then reads the teams is told which directory could not be read.
        fs::read_dir(&self.options.root)
            .map_or_else(|error| error.kind() != ErrorKind::NotFound, |mut teams| teams.next().is_some())
    }

    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError> {
        let file = self.file(name);
        self.bring_back_emptied(&file.path);
        file.read()
    }

    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError> {
        let directory = self.paths.team(&team.name);
        let made = self.make(team, lead, &directory);
        if made.is_err() {
            // Only succeeds if the directory is empty.
            let _ = fs::remove_dir(directory);
        }
        made
    }

    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError> {
        let file = self.file(team);
        self.bring_back_emptied(&file.path);
        let added = file.add(member, self.version())?;
        self.keep_whole(&file.path);
        Ok(added)
    }

    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError> {
        let file = self.file(team);
        self.bring_back_emptied(&file.path);
        let was_there = file.remove(member)?;
        self.keep_whole(&file.path);
        Ok(was_there)
    }

    /// The team's tasks stay; the older client removes them, too.
    fn remove_team(&self, team: &Team) -> Result<(), TeamError> {
        let key = self.key(team);
        let mut directories = vec![self.paths.team(&team.name), self.options.root.join(team.name.inbox_directory())];
        directories.dedup();
        if self.options.rules == Rules::Client(ClientVersion::V2_1_34) {
            directories
                .extend(lists(&team.name).into_iter().flatten().map(|list| self.options.tasks.join(list.directory())));
            directories.dedup();
        }
        let file = self.paths.file(&team.name);
        self.forget_whole(&file)?;
        for directory in directories {
            remove(&directory)?;
        }
        self.remember(|memory| memory.forget_seats(&key))
    }

    fn has_list(&self, list: &ListId) -> bool {
        self.options.tasks.join(list.directory()).is_dir()
    }
}

impl FileTeams {
    /// Creates the directory of a list and its lock file.
    pub(super) fn make_directory_of(&self, list: &ListId) -> Result<(), TeamError> {
        let directory = self.options.tasks.join(list.directory());
        fs::create_dir_all(&directory).map_err(TeamError::io("cannot create", &directory))?;
        let lock = directory.join(".lock");
        match fs::File::options().write(true).create_new(true).open(&lock) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(TeamError::io("cannot create", lock)(error)),
            _ => Ok(()),
        }
    }

    fn make(&self, team: &Team, lead: &SeatRecord, directory: &Path) -> Result<bool, TeamError> {
        fs::create_dir_all(directory).map_err(TeamError::io("cannot create", directory))?;
        let key = self.key(team);
        // Recorded before the team exists, so that there is never a team without a known lead. If several processes
        // create a team at the same time, only one has this key, so no two write the same initial contents.
        let mut is_ours = false;
        let claim = |seat: &mut SeatRecord| {
            is_ours = *seat == SeatRecord::default();
            if is_ours {
                *seat = lead.clone();
            }
        };
        self.change_lead(&key, claim)?;
        if !is_ours {
            return Ok(false);
        }
        reach("team: lead known");
        let file = self.file(&team.name);
        let made = file.create(team, self.version());
        if matches!(made, Ok(true)) {
            self.keep_whole(&file.path);
        } else {
            self.change_lead(&key, |seat| *seat = SeatRecord::default())?;
        }
        made
    }

    fn change_lead(&self, key: &str, mut change: impl FnMut(&mut SeatRecord)) -> Result<(), TeamError> {
        self.remember(|memory| memory.change_seat(key, LEAD, &mut change))
    }
}

/// Renames a directory and then removes it, so that no reader sees half a team.
fn remove(directory: &Path) -> Result<(), TeamError> {
    let parent = directory.parent().unwrap_or(directory);
    let aside = parent.join(format!("{REMOVED}{}", random_id()));
    match fs::rename(directory, &aside) {
        Ok(()) => reach("team: moved away"),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(TeamError::io("cannot remove", directory)(error)),
    }
    // It is no longer a team. Remains that could not be removed are removed next time.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(REMOVED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn lists(name: &TeamName) -> [Result<ListId, BadListName>; 2] {
    [ListId::new(name.directory()), ListId::new(name.as_str())]
}

impl SeatMemory for FileTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        self.remembered(|memory| memory.seats(&self.key(team)))
    }

    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError> {
        let rows = self.remembered(|memory| memory.seats_of(agent.as_str()))?;
        let taken = rows.into_iter().filter_map(|(key, member)| {
            let (place, made) = file_teams::parse_key(&key)?;
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
    /// Returns the name of the team directory that our database knows by this path; `None` if it belongs to another
    /// root.
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
