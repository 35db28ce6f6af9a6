//! The team that the suite plays with.

use taskyard::core::{AgentName, MessageKey, Team, TeamName};
use taskyard::teams::{Letter, NewMember, NewTeam, Presence, Received, Seat, Teams};

use crate::OpenedTeams;

/// Opens a fresh place without teams.
pub type OpenTeams = dyn Fn() -> OpenedTeams;

pub(super) fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

pub(super) fn new_team(name: &str) -> NewTeam {
    NewTeam { name: TeamName::new(name).unwrap(), description: None, agent_type: None }
}

pub(super) fn new_member(name: &str) -> NewMember {
    NewMember {
        agent: agent(name),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Lasting,
        backend: None,
    }
}

/// Makes a team that `boss` leads, with these members.
pub(super) fn make(teams: &Teams, members: &[&str]) -> Team {
    let mut team = teams.create(&new_team("alpha"), &agent("boss")).unwrap().unwrap().team;
    for name in members {
        team = teams.join(&team, &new_member(name)).unwrap().unwrap().team;
    }
    team
}

pub(super) fn seat(teams: &Teams, name: &str) -> Seat {
    teams.only_seat(&agent(name)).unwrap().unwrap()
}

pub(super) fn send(teams: &Teams, from: &str, to: &str, text: &str) {
    teams.send(&seat(teams, from), to, &Letter::new(text)).unwrap().unwrap();
}

pub(super) fn texts(received: &Received) -> Vec<String> {
    received.deliveries.iter().map(|delivery| delivery.message.text.clone()).collect()
}

pub(super) fn keys(received: &Received) -> Vec<MessageKey> {
    received.deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect()
}
