//! Why a rule forbids something about a team.

use taskyard_core::rules::teams::mailing::Unreachable;
use taskyard_core::rules::teams::membership::BadMemberName;

use super::error::TeamError;

/// Why a rule forbids something about a team. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamRefusal {
    /// There is no such team.
    #[error("there is no team `{}`", .team.escape_debug())]
    NoSuchTeam {
        /// The team that was asked for.
        team: String,
        /// Those there are.
        teams: Vec<String>,
    },
    /// The acting agent is in no team.
    #[error("{agent} is in no team")]
    NotInATeam {
        /// The acting agent.
        agent: String,
    },
    /// The acting agent is in several teams, and none was named.
    #[error("{agent} is in several teams: {}", .teams.join(", "))]
    SeveralTeams {
        /// The acting agent.
        agent: String,
        /// The names of the teams it is in.
        teams: Vec<String>,
    },
    /// No member of that name can be written to.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The name, or one that gives the same directory, is in use.
    #[error("{}", taken(.team, .by))]
    NameTaken {
        /// The name that was wanted.
        team: String,
        /// The team that has the directory.
        by: String,
    },
    /// The acting agent leads another team.
    #[error("already leading team \"{team}\"")]
    AlreadyLeading {
        /// The team it leads.
        team: String,
    },
    /// A team with members cannot be deleted.
    #[error("team {team} still has {}", .members.join(", "))]
    MembersLeft {
        /// The team that was to be deleted.
        team: String,
        /// The names of the members that stand in the way.
        members: Vec<String>,
    },
    /// No agent can join under that name.
    #[error(transparent)]
    BadMemberName(#[from] BadMemberName),
    /// The agent that wants to join leads the team.
    #[error("{agent} leads team {team} already, as {lead}")]
    LeadsIt {
        /// The agent that wants to join.
        agent: String,
        /// The team it leads.
        team: String,
        /// The lead's name in it.
        lead: String,
    },
    /// A living member has that name.
    #[error("there is a {name} in team {team} already")]
    NameInUse {
        /// The name under which an agent wants to join.
        name: String,
        /// The team that has a member of that name.
        team: String,
    },
    /// The lead cannot leave.
    #[error("{name} leads team {team} and cannot leave it")]
    LeadStays {
        /// The name of the lead.
        name: String,
        /// The team it leads.
        team: String,
    },
    /// Only the lead may do that.
    #[error("only {lead} can answer a plan in team {team}")]
    NotTheLead {
        /// The name of the lead, which may do it.
        lead: String,
        /// The team in which the plan was to be answered.
        team: String,
    },
}

fn taken(team: &str, by: &str) -> String {
    if team == by {
        return format!("there is a team {by} already");
    }
    format!("`{}` would share its directory with team {by}", team.escape_debug())
}

/// What came of something that a rule may refuse.
pub type Judged<T> = Result<Result<T, TeamRefusal>, TeamError>;
