//! Telling the members that remain in a team that a member is gone, and which tasks came back.

use taskyard_core::rules::agents::naming::{is_same_agent, name_of};
use taskyard_core::{AgentName, Team};

use crate::Yard;
use crate::teams::{Letter, Seat, TeamError};

impl Yard {
    /// Tells the members of the team whose list this is what became of the tasks of a member that is gone. Neither that member is told nor
    /// the actor that ended it by hand, who knows. In the client's rules no member is told, as the client has it.
    ///
    /// That a member could not be told is for the log alone: the tasks are back, and every member sees them.
    pub(crate) fn tell_remaining(&self, gone: &AgentName, notice: &str, ended_by: Option<&AgentName>) {
        if self.rules().is_client() {
            return;
        }
        let attempt = || -> Result<(), TeamError> {
            let Some(team) = self.team_of_list()? else { return Ok(()) };
            let from = self.seat_in(&team, gone)?;
            let ended_by = ended_by.map(|agent| self.seat_in(&team, agent)).transpose()?.map(|seat| seat.name);
            let mut remaining = team.clone();
            remaining.members.retain(|member| Some(&member.name) != ended_by.as_ref());
            let Some(teams) = self.teams() else { return Ok(()) };
            if let Ok((_, failed)) = teams.broadcast(&Seat { team: remaining, ..from }, &Letter::new(notice))? {
                for (name, error) in failed {
                    tracing::warn!(%name, %error, "could not be told that a member is gone");
                }
            }
            Ok(())
        };
        if let Err(error) = attempt() {
            tracing::warn!(%error, "those who remain could not be told that a member is gone");
        }
    }

    /// Returns the team whose list this is.
    fn team_of_list(&self) -> Result<Option<Team>, TeamError> {
        let Some(teams) = self.teams().filter(|teams| teams.are_any()) else { return Ok(None) };
        teams.team_of(self.list_id())
    }

    /// Returns where an agent sits in a team; an agent that is no member of it has its own name there.
    fn seat_in(&self, team: &Team, agent: &AgentName) -> Result<Seat, TeamError> {
        let seat = self.teams().map(|teams| teams.seat(agent, Some(team.name.as_str()))).transpose()?;
        let named = || team.members.iter().find(|member| is_same_agent(&member.name, agent.as_str()));
        let name = || named().map_or_else(|| name_of(agent.as_str()).to_owned(), |member| member.name.clone());
        Ok(seat.and_then(Result::ok).unwrap_or_else(|| Seat { team: team.clone(), name: name() }))
    }
}
