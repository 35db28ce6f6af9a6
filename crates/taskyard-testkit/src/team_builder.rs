//! Teams for tests.

use taskyard::core::{AgentName, Team, TeamName};
use taskyard::teams::{NewMember, NewTeam, Presence, Teams};

/// Returns a team that is to be made.
pub fn new_team(name: &str) -> NewTeam {
    NewTeam { name: TeamName::new(name).unwrap(), description: None, agent_type: None }
}

/// Returns a member that is to join a team and to stay.
pub fn new_member(name: &str) -> NewMember {
    NewMember {
        agent: AgentName::new(name).unwrap(),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Lasting,
        backend: None,
    }
}

/// Makes the team `alpha` with a lead and these members.
pub fn make_team<'a>(teams: &Teams, lead: &str, members: impl IntoIterator<Item = &'a str>) -> Team {
    let lead = AgentName::new(lead).unwrap();
    let mut team = teams.create(&new_team("alpha"), &lead).unwrap().unwrap().team;
    for name in members {
        team = teams.join(&team, &new_member(name)).unwrap().unwrap().team;
    }
    team
}
