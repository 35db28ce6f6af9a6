//! Teams that come and go.

use std::fs;

use taskyard_core::{AgentName, BadListName, ClientVersion, LEAD, ListId, Member, Rules, Team, TeamName, Timestamp};

use super::memory::SeatRow;
use super::random_id::random_id;
use super::register::Teams;
use super::seat::Seat;
use super::{Judged, TeamError, TeamRefusal};
use crate::store::failpoint::reach;

/// A team that is to be.
#[derive(Clone, Debug)]
pub struct NewTeam {
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: Option<String>,
    /// What kind of agent leads it.
    pub agent_type: Option<String>,
}

/// What the names are made of that the client gives where the one that was wanted is taken.
const WORDS: [[&str; 8]; 3] = [
    ["brave", "calm", "eager", "gentle", "keen", "quiet", "swift", "warm"],
    ["building", "chasing", "dancing", "finding", "hopping", "making", "singing", "weaving"],
    ["badger", "falcon", "harbor", "lark", "meadow", "otter", "river", "willow"],
];

/// How the name of a directory begins that was a team's and is being removed.
const REMOVED: &str = ".taskyard-deleted-";

impl Teams {
    /// Makes a team that somebody leads, who has the lead's seat from then on.
    pub fn create(&self, new: &NewTeam, lead: &AgentName) -> Judged<Seat> {
        let is_client = self.rules().is_client();
        if is_client && let Some(seat) = self.only_seat(lead)?.filter(Seat::is_lead) {
            return Ok(Err(TeamRefusal::AlreadyLeading { team: seat.team.name.to_string() }));
        }
        let mut name = new.name.clone();
        loop {
            let team = self.first(&name, new);
            let there = self.file(&name).read()?;
            if there.is_none() {
                match self.found(&team, lead) {
                    Ok(true) => return Ok(Ok(Seat { team, name: LEAD.to_owned() })),
                    // Somebody was faster.
                    Ok(false) => continue,
                    Err(error) => {
                        // Goes where nothing is in it.
                        let _ = fs::remove_dir(self.places.team(&name));
                        return Err(error);
                    }
                }
            }
            match (is_client, there) {
                (true, _) => name = another_name(&name),
                // Removed in that instant.
                (false, None) => {}
                (false, Some(there)) => {
                    let (team, by) = (name.to_string(), there.name.to_string());
                    return Ok(Err(TeamRefusal::NameTaken { team, by }));
                }
            }
        }
    }

    /// Writes a team down with its lead; returns false where there is one already.
    fn found(&self, team: &Team, lead: &AgentName) -> Result<bool, TeamError> {
        let directory = self.places.team(&team.name);
        fs::create_dir_all(&directory).map_err(TeamError::io("cannot create", directory))?;
        let key = self.key(team);
        // Before there is a team, so that there is none whose lead is not known.
        self.remember(|memory| memory.sit(&lead_of(&key, lead, self.now())))?;
        reach("team: lead known");
        let made = self.file(&team.name).create(team, self.version());
        if !matches!(made, Ok(true)) {
            self.remember(|memory| memory.stand_up(&key, LEAD))?;
        }
        made
    }

    fn first(&self, name: &TeamName, new: &NewTeam) -> Team {
        let now = self.now();
        let lead = Member {
            name: LEAD.to_owned(),
            agent_id: name.agent_id(LEAD),
            agent_type: Some(new.agent_type.clone().unwrap_or_else(|| LEAD.to_owned())),
            model: self.options.model.clone(),
            joined_at: now,
            cwd: self.options.directory.as_ref().map(|directory| directory.display().to_string()),
            ..Member::default()
        };
        Team {
            name: name.clone(),
            description: new.description.clone(),
            created_at: now,
            lead_session: self.options.session.clone(),
            lead_process: None,
            members: vec![lead],
        }
    }

    /// Makes the directory of a team's list and the file that locks it, as the client does with a new team.
    pub fn make_list(&self, list: &ListId) -> Result<(), TeamError> {
        let directory = self.options.tasks.join(list.directory());
        fs::create_dir_all(&directory).map_err(TeamError::io("cannot create", &directory))?;
        let lock = directory.join(".lock");
        match fs::File::options().write(true).create_new(true).open(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(TeamError::io("cannot create", lock)(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the members that stand in the way of deleting a team: everybody but the lead, and in our rules but the dead.
    pub fn standing_in_the_way(&self, team: &Team) -> Result<Vec<String>, TeamError> {
        let mut names = Vec::new();
        for member in team.members.iter().filter(|member| !member.is_lead()) {
            if self.rules().is_client() || !self.is_gone(team, member)? {
                names.push(member.name.clone());
            }
        }
        Ok(names)
    }

    /// Fails where a team could not be removed, before anything else is done that hangs on it.
    pub(crate) fn must_be_deletable(&self, team: &Team) -> Result<(), TeamError> {
        let allowed = rustix::fs::access(&self.options.root, rustix::fs::Access::WRITE_OK);
        allowed.map_err(|error| TeamError::io("cannot write", &self.options.root)(error.into()))?;
        self.file(&team.name).must_be_changeable()
    }

    /// Removes a team and its inboxes, with whatever is in them. Its tasks stay; the older client removes them, too.
    pub fn delete(&self, team: &Team) -> Result<(), TeamError> {
        let key = self.key(team);
        let mut directories = vec![self.places.team(&team.name), self.options.root.join(team.name.inbox_directory())];
        directories.dedup();
        if self.rules() == Rules::Client(ClientVersion::V2_1_34) {
            directories
                .extend(lists(&team.name).into_iter().flatten().map(|list| self.options.tasks.join(list.directory())));
            directories.dedup();
        }
        for directory in directories {
            self.remove(&directory)?;
        }
        for member in &team.members {
            self.remember(|memory| memory.stand_up(&key, &member.name))?;
        }
        Ok(())
    }

    /// Moves a directory out of the way and removes it, so that nobody sees half a team.
    fn remove(&self, directory: &std::path::Path) -> Result<(), TeamError> {
        let parent = directory.parent().unwrap_or(directory);
        let aside = parent.join(format!("{REMOVED}{}", random_id()));
        match fs::rename(directory, &aside) {
            Ok(()) => reach("team: moved away"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
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
}

fn lead_of(team: &str, lead: &AgentName, now: Timestamp) -> SeatRow {
    SeatRow {
        team: team.to_owned(),
        member: LEAD.to_owned(),
        agent: lead.to_string(),
        holder: None,
        seen: now,
        activity: None,
        tool_uses: 0,
        tokens: None,
        stop_request: None,
    }
}

fn lists(name: &TeamName) -> [Result<ListId, BadListName>; 2] {
    [ListId::new(name.directory()), ListId::new(name.as_str())]
}

fn another_name(name: &TeamName) -> TeamName {
    let random = random_id();
    let digit = |place: usize| usize::from(random.as_bytes()[place] % 8);
    let word = format!("{}-{}-{}", WORDS[0][digit(0)], WORDS[1][digit(1)], WORDS[2][digit(2)]);
    TeamName::new(word).unwrap_or_else(|_| name.clone())
}
