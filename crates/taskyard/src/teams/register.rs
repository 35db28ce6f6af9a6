//! The teams that exist, and the seats of an agent in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::rules::agents::{is_client_name, name_of};
use taskyard_core::rules::refusal::TeamRefusal;
use taskyard_core::{AgentName, ListId, Rules, Team, TeamName, Timestamp};

#[cfg(feature = "teams")]
use super::files::{FileTeams, FileTeamsOptions};
use super::{TeamError, TeamFileCare};
use crate::Outcome;
use crate::liveness::{ThisMachine, World};
use crate::store::Moved;
use crate::system;
use crate::teams::team_store::{Seat, TeamStore, TeamWatch, TeamsFound};

/// The caller who creates and joins teams.
#[derive(Clone, Debug, Default)]
pub struct TeamCaller {
    /// The client's session, which becomes the lead session of a new team.
    pub session: Option<String>,
    /// The working directory of the acting agent.
    pub directory: Option<PathBuf>,
    /// The agent named by the client's own team environment. It works for its team in every directory.
    pub client_teammate: Option<AgentName>,
    /// The model that the acting agent runs on, if known.
    pub model: Option<String>,
}

/// The teams of one store, for one caller. All decisions about teams are made here, independent of the store.
#[derive(Debug)]
pub struct Teams {
    pub(super) store: Arc<dyn TeamStore>,
    pub(super) caller: TeamCaller,
    rules: Rules,
    /// What is known of the processes of members.
    world: Arc<dyn World>,
    /// The roster, read at most once per call; `None` if it is read every time.
    roster: Option<Mutex<Option<Arc<TeamsFound>>>>,
}

impl Teams {
    /// Returns the teams in the client's files. Nothing is read or created before it is needed.
    #[cfg(feature = "teams")]
    pub fn new(options: FileTeamsOptions, caller: TeamCaller) -> Self {
        let (rules, data) = (options.rules, options.data.clone());
        Self::over(Arc::new(FileTeams::new(options)), rules, caller).with_signs_in(&data)
    }

    /// Returns the teams of a store. `rules` must be the ones that the store was opened with.
    pub fn over(store: Arc<dyn TeamStore>, rules: Rules, caller: TeamCaller) -> Self {
        Self { store, caller, rules, world: Arc::new(ThisMachine::default()), roster: None }
    }

    /// Recognises processes that cannot be seen by their heartbeats in a data directory, and leaves those of this
    /// process there.
    #[must_use]
    pub(crate) fn with_signs_in(self, data: &Path) -> Self {
        self.in_world(Arc::new(ThisMachine::with_signs_in(data)))
    }

    /// Judges members by the processes of another world than this machine.
    #[must_use]
    pub fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world, ..self }
    }

    /// Returns the same teams for one call: the roster is read at most once, and again after this call has changed it.
    /// A caller that waits within a call uses a new value for each check.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        Self { roster: Some(Mutex::default()), ..self.lasting() }
    }

    /// Returns the same teams for long-term use: the roster is read whenever it is needed.
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

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns every readable team, sorted by name.
    pub fn list(&self) -> Result<Vec<Team>, TeamError> {
        Ok(self.roster()?.teams.clone())
    }

    /// Returns every team, sorted by name, and the teams that cannot be read.
    pub fn look_around(&self) -> Result<TeamsFound, TeamError> {
        let found = Arc::try_unwrap(self.roster()?);
        // A roster is cached only if all of it could be read.
        Ok(found.unwrap_or_else(|kept| TeamsFound { teams: kept.teams.clone(), unreadable: Vec::new() }))
    }

    /// Returns whether there may be any team. Cheap.
    pub fn are_any(&self) -> bool {
        self.store.may_be_any()
    }

    /// Returns the roster, cached if it was already read in this call.
    fn roster(&self) -> Result<Arc<TeamsFound>, TeamError> {
        let Some(roster) = &self.roster else { return Ok(Arc::new(self.store.teams()?)) };
        let mut roster = roster.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*roster {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(self.store.teams()?);
        // A team that could not be read may be readable the next time.
        *roster = found.unreadable.is_empty().then(|| Arc::clone(&found));
        Ok(found)
    }

    /// Discards the cached roster.
    pub(super) fn read_roster_again(&self) {
        if let Some(roster) = &self.roster {
            *roster.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Returns a team by name, or a refusal if it does not exist.
    pub fn find(&self, name: &str) -> Result<Outcome<Team>, TeamError> {
        let found = TeamName::new(name).ok().map(|team| self.read(&team)).transpose()?.flatten();
        // A name that only yields the same directory denotes another team, which does not exist.
        if let Some(team) = found.filter(|team| team.name.as_str() == name || is_same_name(team, name)) {
            return Ok(Outcome::Done(team));
        }
        Ok(Outcome::refused(self.no_such_team(name)?))
    }

    /// Reads one team. Within a call, reads all of them, because the call most likely needs the others as well.
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

    /// Returns an agent's seat in the named team, or else in its only team. If the agent has no known seat but some
    /// team cannot be read, the result is an error, because the agent may be in that team.
    pub fn seat(&self, agent: &AgentName, team: Option<&str>) -> Result<Outcome<Seat>, TeamError> {
        let found = match team {
            Some(name) => match self.find(name)? {
                Outcome::Done(team) => Arc::new(TeamsFound { teams: vec![team], unreadable: Vec::new() }),
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            },
            None => self.roster()?,
        };
        let mut seats = self.seats(agent, &found.teams)?;
        Ok(match seats.len() {
            0 => match first_error(found, |_| true) {
                Some(error) => return Err(error),
                None => Outcome::refused(TeamRefusal::NotInATeam { agent: agent.to_string() }),
            },
            1 => Outcome::Done(seats.remove(0)),
            _ => Outcome::refused(TeamRefusal::SeveralTeams {
                agent: agent.to_string(),
                teams: seats.iter().map(|seat| seat.team.name.to_string()).collect(),
            }),
        })
    }

    /// Returns an agent's only seat; `None` if it has none, or several. An unreadable team is an error only for an
    /// agent that is known to be in it.
    pub fn only_seat(&self, agent: &AgentName) -> Result<Option<Seat>, TeamError> {
        Ok(<[Seat; 1]>::try_from(self.seats_of(agent)?).ok().map(|[seat]| seat))
    }

    /// Returns all seats of an agent. Unreadable teams are handled as in [`Self::only_seat`].
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

    /// Returns the seats of several agents, as [`Self::seats_of`] does, reading the teams once.
    pub(crate) fn seats_of_all(&self, agents: &BTreeSet<AgentName>) -> Vec<(AgentName, Result<Vec<Seat>, TeamError>)> {
        let teams = self.for_one_call();
        agents.iter().map(|agent| (agent.clone(), teams.seats_of(agent))).collect()
    }

    /// Prepares to call `moved` whenever something in a team may have changed: see [`super::TeamWatch`].
    pub(crate) fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        self.store.watch(moved)
    }

    /// Finds an agent's seats: those of its own name, else those it took under another name, else that of the lead of
    /// its session.
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

    /// Returns the list that a team's members share: the one in the lead's spelling, unless only the one in the
    /// teammates' spelling exists.
    pub fn list_of(&self, team: &TeamName) -> Result<ListId, taskyard_core::BadListName> {
        let leads = ListId::new(team.directory())?;
        let mates = ListId::new(team.as_str())?;
        let is_mates = leads != mates && self.store.has_list(&mates) && !self.store.has_list(&leads);
        Ok(if is_mates { mates } else { leads })
    }

    /// Returns the path of a team's file; `None` if teams are not stored in files.
    pub fn file_of(&self, team: &TeamName) -> Option<PathBuf> {
        self.care().map(|care| care.file_of(team))
    }

    /// Returns the operations that only a file-backed store has.
    pub(crate) fn care(&self) -> Option<&dyn TeamFileCare> {
        self.store.care()
    }

    pub(super) fn world(&self) -> &dyn World {
        &*self.world
    }

    pub(super) fn now(&self) -> Timestamp {
        system::now()
    }
}

/// Returns whether `name` is the team's directory name, or its name in another case.
fn is_same_name(team: &Team, name: &str) -> bool {
    team.name.directory() == name || team.name.as_str().eq_ignore_ascii_case(name)
}

/// Returns the error of the first unreadable team that is meant. `found` must have no other owner if it has such teams.
fn first_error(found: Arc<TeamsFound>, is_meant: impl Fn(&str) -> bool) -> Option<TeamError> {
    let unreadable = Arc::into_inner(found)?.unreadable;
    unreadable.into_iter().find(|team| is_meant(&team.directory)).map(|team| team.error)
}
