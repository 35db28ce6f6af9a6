//! What becomes of members who have told their lead that they end: the next command takes them out.

use taskyard_core::Team;
use taskyard_core::rules::agents::departing::Departure;

use super::Pruned;
use crate::teams::{Seat, Teams};
use crate::{Error, Yard};

impl Yard {
    /// Takes those out of all teams that are led with us who have told their lead that they end: their tasks come back, and the other
    /// members are told, each once, but for the actor. Costs a look at the inboxes of leads where nothing has come for any.
    pub fn take_out_ended(&self) -> Result<Vec<Pruned>, Error> {
        let Some((teams, mail)) = self.teams().and_then(|teams| Some((teams, teams.new_lead_mail()?))) else {
            return Ok(Vec::new());
        };
        let mut taken_out = Vec::new();
        for team in teams.list()? {
            taken_out.append(&mut self.take_out_ended_of(teams, &team)?);
        }
        teams.lead_mail_was_read(&mail);
        Ok(taken_out)
    }

    /// Does the same for commands that wait or work for long, and have other things to fail at.
    pub(crate) fn take_out_ended_meanwhile(&self) {
        if let Err(error) = self.take_out_ended() {
            tracing::warn!(%error, "those who have ended stay in their teams");
        }
    }

    /// Does the same for one team. Several processes may do it at once, and one of them tells the other members.
    fn take_out_ended_of(&self, teams: &Teams, team: &Team) -> Result<Vec<Pruned>, Error> {
        let ended = teams.ended(team).unwrap_or_else(|error| {
            // An inbox that cannot be read is looked at again when it has changed; `doctor` tells of it.
            tracing::warn!(%error, "what has come for a lead cannot be read");
            Vec::new()
        });
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        // Another process may have taken a member out since the team was read, and one of that name may have come back.
        let Ok(mut team) = teams.lasting().find(team.name.as_str())? else { return Ok(Vec::new()) };
        let actor = teams.seat(self.actor(), Some(team.name.as_str()))?.ok();
        let is_told = |member: &str| actor.as_ref().is_none_or(|actor| actor.name != member);
        let mut taken_out = Vec::new();
        for name in teams.ended(&team)? {
            let seat = Seat { team: team.clone(), name: name.clone() };
            team.members.retain(|member| member.name != name);
            if let Ok((departed, true)) = self.leave_telling(teams, &seat, Departure::Shutdown, is_told)? {
                taken_out.push(Pruned { name, departure: Departure::Shutdown, departed });
            }
        }
        Ok(taken_out)
    }
}
