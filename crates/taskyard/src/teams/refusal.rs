//! Why a rule forbids something about a team.

use taskyard_core::rules::teams::mailing::Unreachable;
use taskyard_core::rules::teams::membership::BadMemberName;

use super::error::TeamError;

/// Why a rule forbids something about a team. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "internals"), non_exhaustive)]
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
        /// The teams.
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
        /// That team.
        team: String,
    },
    /// A team with members cannot be deleted.
    #[error("team {team} still has {}", .members.join(", "))]
    MembersLeft {
        /// The team.
        team: String,
        /// Its members.
        members: Vec<String>,
    },
    /// No agent can join under that name.
    #[error(transparent)]
    BadMemberName(#[from] BadMemberName),
    /// The agent that wants to join leads the team.
    #[error("{agent} leads team {team} already, as {lead}")]
    LeadsIt {
        /// Who.
        agent: String,
        /// The team.
        team: String,
        /// The lead's name in it.
        lead: String,
    },
    /// A living member has that name.
    #[error("there is a {name} in team {team} already")]
    NameInUse {
        /// The name.
        name: String,
        /// The team.
        team: String,
    },
    /// The lead cannot leave.
    #[error("{name} leads team {team} and cannot leave it")]
    LeadStays {
        /// The lead.
        name: String,
        /// The team.
        team: String,
    },
    /// Only the lead may do that.
    #[error("only {lead} can answer a plan in team {team}")]
    NotTheLead {
        /// The lead.
        lead: String,
        /// The team.
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
