//! All teams there are, and where an agent sits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::rules::agents::naming::{is_client_name, name_of};
use taskyard_core::{AgentName, ListId, Rules, Team, TeamName, Timestamp};

use super::contract::{TeamStore, TeamWatch};
#[cfg(feature = "teams")]
use super::files::{FileTeams, FileTeamsOptions};
use super::seat::Seat;
use super::teams_found::TeamsFound;
use super::{Judged, TeamError, TeamFileCare, TeamRefusal};
use crate::clock;
use crate::liveness::{ThisMachine, World};
use crate::store::Moved;

/// Who makes teams and joins them.
#[derive(Clone, Debug, Default)]
pub struct TeamCaller {
    /// The client's session, which a new team is led by.
    pub session: Option<String>,
    /// The directory in which the acting agent works.
    pub directory: Option<PathBuf>,
    /// The agent that the client's own team environment says acts: wherever it works, it works for its team.
    pub client_teammate: Option<AgentName>,
    /// The model that the acting agent runs on, where that is known.
    pub model: Option<String>,
}

/// The teams of one place, for one caller. Everything that is decided about them is decided here, wherever they live.
#[derive(Debug)]
pub struct Teams {
    pub(super) store: Arc<dyn TeamStore>,
    pub(super) caller: TeamCaller,
    rules: Rules,
    /// Where the processes live that members sit with.
    world: Arc<dyn World>,
    /// The roster as it was read, for the length of one call; none where it is read every time.
    roster: Option<Mutex<Option<Arc<TeamsFound>>>>,
}

impl Teams {
    /// Returns the teams in the client's files. Nothing is read or made before it is asked for.
    #[cfg(feature = "teams")]
    pub fn new(options: FileTeamsOptions, caller: TeamCaller) -> Self {
        let (rules, data) = (options.rules, options.data.clone());
        Self::over(Arc::new(FileTeams::new(options)), rules, caller).with_signs_in(&data)
    }

    /// Returns the teams of a place. The rules must be the ones it was opened with.
    pub fn over(store: Arc<dyn TeamStore>, rules: Rules, caller: TeamCaller) -> Self {
        Self { store, caller, rules, world: Arc::new(ThisMachine::default()), roster: None }
    }

    /// Has processes that cannot be seen known by their signs of life in a data directory, and leaves those of this one there.
    #[must_use]
    pub(crate) fn with_signs_in(self, data: &Path) -> Self {
        self.in_world(Arc::new(ThisMachine::with_signs_in(data)))
    }

    /// Lets another world than this machine's processes decide which members are gone.
    #[must_use]
    pub fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world, ..self }
    }

    /// Returns the same teams for one call: the roster is read at most once, and again after this call has changed it. A caller that waits
    /// within a call takes another one for each look.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        Self { roster: Some(Mutex::default()), ..self.lasting() }
    }

    /// Returns the same teams for as long as a caller wants them: the roster is read whenever it is asked for.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            caller: self.caller.clone(),
            rules: self.rules,
            world: Arc::clone(&self.world),
            roster: None,
        }
    }

    /// Returns the rules in force.
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns every team, by name. Those that cannot be read are passed over.
    pub fn list(&self) -> Result<Vec<Team>, TeamError> {
        Ok(self.roster()?.teams.clone())
    }

    /// Returns every team, by name, and why others cannot be read.
    pub fn look_around(&self) -> Result<TeamsFound, TeamError> {
        let found = Arc::try_unwrap(self.roster()?);
        // A roster is only kept where all of it can be read.
        Ok(found.unwrap_or_else(|kept| TeamsFound { teams: kept.teams.clone(), unreadable: Vec::new() }))
    }

    /// Tells whether there may be any team at all, at the cost of one look.
    pub fn are_any(&self) -> bool {
        self.store.may_be_any()
    }

    /// Returns the roster, as it was read in this call where that is so.
    fn roster(&self) -> Result<Arc<TeamsFound>, TeamError> {
        let Some(roster) = &self.roster else { return Ok(Arc::new(self.store.teams()?)) };
        let mut roster = roster.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*roster {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(self.store.teams()?);
        // What could not be read may be read the next moment.
        *roster = found.unreadable.is_empty().then(|| Arc::clone(&found));
        Ok(found)
    }

    /// Takes it that the roster has changed.
    pub(super) fn read_roster_again(&self) {
        if let Some(roster) = &self.roster {
            *roster.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Returns a team by name.
    pub fn find(&self, name: &str) -> Judged<Team> {
        let found = TeamName::new(name).ok().map(|team| self.read(&team)).transpose()?.flatten();
        // A name that only shares the directory is another team, which is not there.
        if let Some(team) = found.filter(|team| team.name.as_str() == name || is_same_name(team, name)) {
            return Ok(Ok(team));
        }
        Ok(Err(self.no_such_team(name)?))
    }

    /// Reads one team; in a call, with all the others, which it most likely asks for as well.
    fn read(&self, name: &TeamName) -> Result<Option<Team>, TeamError> {
        if self.roster.is_none() {
            return self.store.team(name);
        }
        let found = self.roster()?;
        let team = found.teams.iter().find(|team| team.name == *name).cloned();
        match first_error(found, |directory| team.is_none() && directory == name.directory()) {
            Some(error) => Err(error),
            None => Ok(team),
        }
    }

    pub(super) fn no_such_team(&self, name: &str) -> Result<TeamRefusal, TeamError> {
        let teams = self.list()?.into_iter().map(|team| team.name.to_string()).collect();
        Ok(TeamRefusal::NoSuchTeam { team: name.to_owned(), teams })
    }

    /// Returns where an agent sits: in the team that is named, else in the only one. An agent that is found nowhere while there is a team
    /// that cannot be read may be in that one, so that is an error.
    pub fn seat(&self, agent: &AgentName, team: Option<&str>) -> Judged<Seat> {
        let found = match team {
            Some(name) => match self.find(name)? {
                Ok(team) => Arc::new(TeamsFound { teams: vec![team], unreadable: Vec::new() }),
                Err(refusal) => return Ok(Err(refusal)),
            },
            None => self.roster()?,
        };
        let mut seats = self.seats(agent, &found.teams)?;
        Ok(match seats.len() {
            0 => match first_error(found, |_| true) {
                Some(error) => return Err(error),
                None => Err(TeamRefusal::NotInATeam { agent: agent.to_string() }),
            },
            1 => Ok(seats.remove(0)),
            _ => Err(TeamRefusal::SeveralTeams {
                agent: agent.to_string(),
                teams: seats.iter().map(|seat| seat.team.name.to_string()).collect(),
            }),
        })
    }

    /// Returns where an agent sits; none where that is nowhere, or in several teams. That a team cannot be read is an error for agents that
    /// we know to be in it, and nothing for others.
    pub fn only_seat(&self, agent: &AgentName) -> Result<Option<Seat>, TeamError> {
        Ok(<[Seat; 1]>::try_from(self.seats_of(agent)?).ok().map(|[seat]| seat))
    }

    /// Returns everywhere an agent sits, under the terms of [`Self::only_seat`].
    pub fn seats_of(&self, agent: &AgentName) -> Result<Vec<Seat>, TeamError> {
        let found = self.roster()?;
        let seats = self.seats(agent, &found.teams)?;
        if seats.is_empty() && !found.unreadable.is_empty() {
            let taken = self.store.seats_of(agent)?;
            let is_own = |directory: &str| taken.iter().any(|seat| seat.directory == directory);
            if let Some(error) = first_error(found, is_own) {
                return Err(error);
            }
        }
        Ok(seats)
    }

    /// Returns where each of several agents sits, as [`Self::seats_of`] does for one; the teams are read once.
    pub(crate) fn seats_of_all(&self, agents: &BTreeSet<AgentName>) -> Vec<(AgentName, Result<Vec<Seat>, TeamError>)> {
        let teams = self.for_one_call();
        agents.iter().map(|agent| (agent.clone(), teams.seats_of(agent))).collect()
    }

    /// Prepares to call `moved` whenever something may have moved in a team: see [`super::TeamWatch`].
    pub(crate) fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        self.store.watch(moved)
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
        let taken = self.store.seats_of(agent)?;
        let by_seat = |team: &Team| {
            let seat = taken.iter().find(|seat| seat.is_in(team))?;
            team.member(&seat.member).map(|member| Seat { team: team.clone(), name: member.name.clone() })
        };
        let seats: Vec<Seat> = teams.iter().filter_map(by_seat).collect();
        if !seats.is_empty() {
            return Ok(seats);
        }
        let by_session = |team: &Team| {
            let session = team.lead_session.as_deref()?;
            let is_own_session = self.caller.session.as_deref() == Some(session) && is_client_name(agent.as_str());
            let is_lead = is_own_session || agent.as_str() == format!("claude-code-{}", session.get(..8)?);
            is_lead.then(|| Seat { name: team.lead().to_owned(), team: team.clone() })
        };
        Ok(teams.iter().filter_map(by_session).collect())
    }

    /// Returns the list that a team's members share: the lead's, unless only the one with the teammates' spelling exists.
    pub fn list_of(&self, team: &TeamName) -> Result<ListId, taskyard_core::BadListName> {
        let leads = ListId::new(team.directory())?;
        let mates = ListId::new(team.as_str())?;
        let is_mates = leads != mates && self.store.has_list(&mates) && !self.store.has_list(&leads);
        Ok(if is_mates { mates } else { leads })
    }

    /// Returns the path of a team's file, where teams have files.
    pub fn file_of(&self, team: &TeamName) -> Option<PathBuf> {
        self.care().map(|care| care.file_of(team))
    }

    /// Returns what only a place of files can do.
    pub(crate) fn care(&self) -> Option<&dyn TeamFileCare> {
        self.store.care()
    }

    /// Returns where the processes live that members sit with.
    pub(super) fn world(&self) -> &dyn World {
        &*self.world
    }

    pub(super) fn now(&self) -> Timestamp {
        clock::now()
    }
}

/// A team may be called by the name of its directory.
fn is_same_name(team: &Team, name: &str) -> bool {
    team.name.directory() == name || team.name.as_str().eq_ignore_ascii_case(name)
}

/// Returns why the first of those teams cannot be read. No other caller keeps what cannot be read.
fn first_error(found: Arc<TeamsFound>, is_meant: impl Fn(&str) -> bool) -> Option<TeamError> {
    let unreadable = Arc::into_inner(found)?.unreadable;
    unreadable.into_iter().find(|team| is_meant(&team.directory)).map(|team| team.error)
}
