//! All teams there are, and where somebody sits.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use taskyard_core::rules::agents::name_of;
use taskyard_core::{AgentName, ClientVersion, ListId, Rules, Team, TeamName, Timestamp};

use super::inbox::Inbox;
use super::known_whole::KnownWhole;
use super::memory::Memory;
use super::places::{self, Places};
use super::seat::Seat;
use super::team_file::{self, TeamFile};
use super::{Judged, TeamError, TeamRefusal};
use crate::clock;

/// Where teams are, and how they are dealt with.
#[derive(Clone, Debug)]
pub struct TeamsOptions {
    /// The client's directory of teams.
    pub root: PathBuf,
    /// The client's directory of task lists.
    pub tasks: PathBuf,
    /// Our data directory.
    pub data: PathBuf,
    /// The rules in force.
    pub rules: Rules,
    /// The client's session, which a new team is led by.
    pub session: Option<String>,
    /// Where whoever acts works.
    pub directory: Option<PathBuf>,
    /// The model whoever acts runs on, where that is known.
    pub model: Option<String>,
}

/// The teams there are.
#[derive(Debug, Default)]
pub struct TeamsFound {
    /// Those that can be read.
    pub teams: Vec<Team>,
    /// The directories of others, and why their files cannot be read.
    pub unreadable: Vec<(PathBuf, TeamError)>,
}

/// The teams of one directory of the client's.
#[derive(Debug)]
pub struct Teams {
    pub(super) options: TeamsOptions,
    pub(super) places: Places,
    memory: Mutex<Option<Memory>>,
    whole: KnownWhole,
}

impl Teams {
    /// Returns the teams. Nothing is read or made before it is asked for.
    pub fn new(options: TeamsOptions) -> Self {
        Self {
            places: Places { root: options.root.clone() },
            options,
            memory: Mutex::default(),
            whole: KnownWhole::default(),
        }
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.options.rules
    }

    /// Returns every team, by name. Files that hold no team, or cannot be read, are passed over.
    pub fn list(&self) -> Result<Vec<Team>, TeamError> {
        Ok(self.look_around()?.teams)
    }

    /// Returns every team, by name, and why others cannot be read.
    pub fn look_around(&self) -> Result<TeamsFound, TeamError> {
        let directories = match fs::read_dir(&self.options.root) {
            Ok(directories) => directories,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(TeamsFound::default()),
            Err(error) => return Err(TeamError::io("cannot list", &self.options.root)(error)),
        };
        let mut found = TeamsFound::default();
        for directory in directories.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')) {
            match team_file::read(&directory.path().join("config.json")) {
                Ok(team) => found.teams.extend(team),
                Err(error) => found.unreadable.push((directory.path(), error)),
            }
        }
        found.teams.sort_by(|one, two| one.name.as_str().cmp(two.name.as_str()));
        found.unreadable.sort_by(|one, two| one.0.cmp(&two.0));
        Ok(found)
    }

    /// Tells whether there may be any team at all, at the cost of one look.
    pub fn are_any(&self) -> bool {
        fs::read_dir(&self.options.root).is_ok_and(|mut teams| teams.next().is_some())
    }

    /// Returns a team by name.
    pub fn find(&self, name: &str) -> Judged<Team> {
        let found = TeamName::new(name).ok().map(|team| self.file(&team).read()).transpose()?.flatten();
        // A name that only shares the directory is another team, which is not there.
        if let Some(team) = found.filter(|team| team.name.as_str() == name || self.is_same_name(team, name)) {
            return Ok(Ok(team));
        }
        let teams = self.list()?.into_iter().map(|team| team.name.to_string()).collect();
        Ok(Err(TeamRefusal::NoSuchTeam { team: name.to_owned(), teams }))
    }

    /// A team may be called by the name of its directory.
    fn is_same_name(&self, team: &Team, name: &str) -> bool {
        team.name.directory() == name || team.name.as_str().eq_ignore_ascii_case(name)
    }

    /// Returns where somebody sits: in the team that is named, else in the only one. Whoever is found nowhere while there is a team
    /// that cannot be read may be in that one, so that is an error.
    pub fn seat(&self, agent: &AgentName, team: Option<&str>) -> Judged<Seat> {
        let mut found = match team {
            Some(name) => match self.find(name)? {
                Ok(team) => TeamsFound { teams: vec![team], unreadable: Vec::new() },
                Err(refusal) => return Ok(Err(refusal)),
            },
            None => self.look_around()?,
        };
        let mut seats = self.seats(agent, &found.teams)?;
        Ok(match seats.len() {
            0 if !found.unreadable.is_empty() => return Err(found.unreadable.swap_remove(0).1),
            0 => Err(TeamRefusal::NotInATeam { agent: agent.to_string() }),
            1 => Ok(seats.remove(0)),
            _ => Err(TeamRefusal::SeveralTeams {
                agent: agent.to_string(),
                teams: seats.iter().map(|seat| seat.team.name.to_string()).collect(),
            }),
        })
    }

    /// Returns where somebody sits; none where that is nowhere, or in several teams. That a team cannot be read is an error to
    /// those we know to be in it, and nothing to others.
    pub fn only_seat(&self, agent: &AgentName) -> Result<Option<Seat>, TeamError> {
        let found = self.look_around()?;
        let mut seats = self.seats(agent, &found.teams)?;
        if seats.is_empty() && !found.unreadable.is_empty() {
            let taken = self.remembered(|memory| memory.seats_of(agent.as_str()))?.unwrap_or_default();
            let is_own = |directory: &Path| {
                let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
                taken.iter().any(|seat| places::is_key_of(&seat.team, &place))
            };
            if let Some((_, error)) = found.unreadable.into_iter().find(|(directory, _)| is_own(directory)) {
                return Err(error);
            }
        }
        Ok(if seats.len() == 1 { seats.pop() } else { None })
    }

    /// Returns where each of several agents sits, as [`Self::only_seat`] does for one; the teams are read once.
    pub(super) fn only_seats(&self, agents: &BTreeSet<AgentName>) -> Vec<(AgentName, Result<Option<Seat>, TeamError>)> {
        let found = if agents.is_empty() { return Vec::new() } else { self.look_around() };
        let seat_of = |agent: &AgentName| match &found {
            Ok(found) if found.unreadable.is_empty() => {
                let seats = self.seats(agent, &found.teams)?;
                Ok(<[Seat; 1]>::try_from(seats).ok().map(|[seat]| seat))
            }
            _ => self.only_seat(agent),
        };
        agents.iter().map(|agent| (agent.clone(), seat_of(agent))).collect()
    }

    /// A seat is a member's of that name, or one taken under another name, or the lead's of a session.
    fn seats(&self, agent: &AgentName, teams: &[Team]) -> Result<Vec<Seat>, TeamError> {
        if teams.is_empty() {
            return Ok(Vec::new());
        }
        let by_name = |team: &Team| {
            let name = agent.as_str();
            let is_whole = team.member(name).is_some();
            let short = name_of(name);
            let is_of_team = name.split_once('@').is_some_and(|(_, of)| of == team.name.as_str());
            let found =
                if is_whole { Some(name) } else { (is_of_team && team.member(short).is_some()).then_some(short) };
            found.map(|name| Seat { team: team.clone(), name: name.to_owned() })
        };
        let seats: Vec<Seat> = teams.iter().filter_map(by_name).collect();
        if !seats.is_empty() {
            return Ok(seats);
        }
        let taken = self.remembered(|memory| memory.seats_of(agent.as_str()))?.unwrap_or_default();
        let by_seat = |team: &Team| {
            let seat = taken.iter().find(|seat| seat.team == self.key(team))?;
            team.member(&seat.member).map(|member| Seat { team: team.clone(), name: member.name.clone() })
        };
        let seats: Vec<Seat> = teams.iter().filter_map(by_seat).collect();
        if !seats.is_empty() {
            return Ok(seats);
        }
        let by_session = |team: &Team| {
            let session = team.lead_session.as_deref()?.get(..8)?;
            let is_lead = agent.as_str() == format!("claude-code-{session}");
            is_lead.then(|| Seat { name: team.lead().to_owned(), team: team.clone() })
        };
        Ok(teams.iter().filter_map(by_session).collect())
    }

    /// Returns the list that a team's members share: the lead's, unless only the one with the teammates' spelling exists.
    pub fn list_of(&self, team: &TeamName) -> Result<ListId, taskyard_core::BadListName> {
        let leads = ListId::new(team.directory())?;
        let mates = ListId::new(team.as_str())?;
        let exists = |list: &ListId| self.options.tasks.join(list.directory()).is_dir();
        Ok(if leads != mates && exists(&mates) && !exists(&leads) { mates } else { leads })
    }

    /// Returns the path of a team's file.
    pub fn file_of(&self, team: &TeamName) -> PathBuf {
        self.places.file(team)
    }

    pub(super) fn version(&self) -> ClientVersion {
        self.options.rules.client_version()
    }

    pub(super) fn file(&self, team: &TeamName) -> TeamFile {
        TeamFile { path: self.places.file(team), queues: self.queues() }
    }

    pub(super) fn inbox(&self, path: PathBuf) -> Inbox {
        Inbox { path, queues: self.queues(), whole: self.whole.clone() }
    }

    /// Returns the key under which our memory knows a team.
    pub(super) fn key(&self, team: &Team) -> String {
        let directory = self.places.team(&team.name);
        places::key(&fs::canonicalize(&directory).unwrap_or(directory), team.created_at.0)
    }

    /// Returns the key under which our memory knows an inbox.
    pub(super) fn inbox_key(&self, seat: &Seat) -> String {
        format!("{}/{}", self.key(&seat.team), seat.name)
    }

    /// Returns where entries that are no messages are kept.
    pub(super) fn set_aside_folder(&self) -> PathBuf {
        self.options.data.join("set-aside")
    }

    pub(super) fn queues(&self) -> PathBuf {
        self.options.data.join("inboxes")
    }

    /// Does something with our memory, making it where there is none.
    pub(super) fn remember<T>(&self, work: impl FnOnce(&mut Memory) -> Result<T, TeamError>) -> Result<T, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_none() {
            *memory = Some(Memory::open(&self.options.data)?);
        }
        memory.as_mut().map_or_else(
            || Err(TeamError::io("cannot open", Path::new("teams.sqlite"))(std::io::ErrorKind::NotFound.into())),
            work,
        )
    }

    /// Looks something up in our memory; none where there is none yet.
    pub(super) fn remembered<T>(
        &self,
        work: impl FnOnce(&mut Memory) -> Result<T, TeamError>,
    ) -> Result<Option<T>, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_none() {
            *memory = Memory::look(&self.options.data)?;
        }
        memory.as_mut().map(work).transpose()
    }

    pub(super) fn now(&self) -> Timestamp {
        clock::now()
    }
}
