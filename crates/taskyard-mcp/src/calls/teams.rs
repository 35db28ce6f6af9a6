//! `TeamCreate`, `TeamDelete`, `ListAgents`

use std::sync::Arc;

use serde_json::Value;
use taskyard::core::TeamName;
use taskyard::core::tools::list_agents::Listed;
use taskyard::core::tools::team_create::TeamCreate;
use taskyard::core::tools::{Answer, catalogue, list_agents, team_create, team_delete};

use super::Toolbox;
use super::toolbox::NoAnswer;
use taskyard::teams::{NewTeam, Seat, TeamRefusal, Teams};

impl Toolbox {
    pub(super) fn create_team(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let teams = self.teams("TeamCreate")?;
        let rules = self.yard.rules();
        let TeamCreate { name, description, agent_type } = team_create::read(input, rules)?;
        let Ok(name) = TeamName::new(name) else { return Ok(team_create::nameless()) };
        let new = NewTeam { name, description, agent_type };
        Ok(match self.yard.create_team(&teams, &new, false)? {
            Ok((seat, list)) => {
                let path = teams.file_of(&seat.team.name).unwrap_or_default().display().to_string();
                team_create::created(&seat.team, &path, list.as_str(), rules)
            }
            Err(TeamRefusal::AlreadyLeading { team }) => team_create::already_leading(&team),
            Err(refusal) => Answer::error(format!("Not made: {refusal}. Choose another name.")),
        })
    }

    pub(super) fn delete_team(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let teams = self.teams("TeamDelete")?;
        let rules = self.yard.rules();
        team_delete::read(input, rules)?;
        let Some(seat) = teams.only_seat(self.yard.actor())?.filter(Seat::is_lead) else {
            return Ok(team_delete::no_team(rules));
        };
        let name = seat.team.name.to_string();
        let left = teams.standing_in_the_way(&seat.team)?;
        if !left.is_empty() {
            return Ok(team_delete::members_left(&name, &left, rules));
        }
        self.yard.end_team(&teams, &seat.team)?;
        Ok(team_delete::deleted(&name, rules))
    }

    pub(super) fn list_agents(&self, input: &Value) -> Result<Answer, NoAnswer> {
        list_agents::read(input, self.yard.rules())?;
        let teams = self.teams("ListAgents")?;
        let Some(seat) = teams.only_seat(self.yard.actor())? else { return Ok(list_agents::alone()) };
        let shown = self.yard.show_team(&teams, &seat.team)?;
        let tasks: Vec<Vec<String>> = shown
            .members
            .iter()
            .map(|member| member.tasks.iter().map(|(id, _)| id.as_str().to_owned()).collect())
            .collect();
        let listed: Vec<Listed<'_>> = shown
            .members
            .iter()
            .zip(&tasks)
            .map(|(shown, tasks)| Listed { member: &shown.member, state: shown.state, tasks })
            .collect();
        Ok(list_agents::listed(seat.team.name.as_str(), &seat.name, &listed))
    }

    /// Returns the teams; where there are none, the tool is not there either.
    pub(super) fn teams(&self, tool: &str) -> Result<Arc<Teams>, NoAnswer> {
        self.yard.teams().cloned().ok_or_else(|| NoAnswer::Answer(catalogue::not_available(tool)))
    }
}
