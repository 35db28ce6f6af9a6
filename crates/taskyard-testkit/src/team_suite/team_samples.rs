//! The team that the suite plays with.

use taskyard::core::{AgentName, MessageKey, Team};
use taskyard::teams::{Letter, Received, Seat, Teams};

use crate::OpenedTeams;
use crate::list_builder::make_team;
pub(super) use crate::list_builder::{new_member, new_team};

/// Opens a fresh place without teams.
pub type OpenTeams = dyn Fn() -> OpenedTeams;

pub(super) fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Makes a team that `boss` leads, with these members.
pub(super) fn make(teams: &Teams, members: &[&str]) -> Team {
    make_team(teams, "boss", members.iter().copied())
}

pub(super) fn seat(teams: &Teams, name: &str) -> Seat {
    teams.only_seat(&agent(name)).unwrap().unwrap()
}

pub(super) fn send(teams: &Teams, from: &str, to: &str, text: &str) {
    teams.send(&seat(teams, from), to, &Letter::new(text)).unwrap().done().unwrap();
}

pub(super) fn texts(received: &Received) -> Vec<String> {
    received.deliveries.iter().map(|delivery| delivery.message.text.clone()).collect()
}

pub(super) fn keys(received: &Received) -> Vec<MessageKey> {
    received.deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect()
}
