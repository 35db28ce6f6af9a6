//! The files of all teams: found, made, changed and removed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use taskyard_core::{BadListName, ClientVersion, LEAD, ListId, Member, Rules, Team, TeamName};

use super::store::FileTeams;
use super::team_file;
use crate::failpoint::reach;
use crate::teams::random_id::random_id;
use crate::teams::{Added, Roster, SeatRecord, TeamError, TeamsFound, UnreadableTeam};

/// How the name of a directory begins that was a team's and is being removed.
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
        // A caller that then asks is told which directory could not be read.
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
            // Goes where nothing is in it.
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

    /// Its tasks stay; the older client removes them, too.
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
    /// Makes the directory of a list and the file that locks it.
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
        // Before there is a team, so that there is none whose lead is not known. Of several processes that make one in the same instant
        // only one has this key, so no two write the same first bytes.
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

/// Moves a directory out of the way and removes it, so that no reader sees half a team.
fn remove(directory: &Path) -> Result<(), TeamError> {
    let parent = directory.parent().unwrap_or(directory);
    let aside = parent.join(format!("{REMOVED}{}", random_id()));
    match fs::rename(directory, &aside) {
        Ok(()) => reach("team: moved away"),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(TeamError::io("cannot remove", directory)(error)),
    }
    // It is gone as a team. What could not be removed of it goes with the next one.
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
