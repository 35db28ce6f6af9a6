//! What goes wrong with teams, as people and programs learn of it.

use serde_json::json;
use taskyard_core::problem::{Problem, ProblemKind};
use taskyard_core::rules::teams::mailing::Unreachable;
use taskyard_core::rules::teams::membership::BadMemberName;

use crate::teams::{TeamError, TeamFileError, TeamRefusal};

impl From<TeamError> for Problem {
    fn from(error: TeamError) -> Self {
        let message = error.to_string();
        match error {
            TeamError::Store(error) => error.into(),
            TeamError::Files(error) => error.into(),
            TeamError::Unsent { to, source } => Self::from(*source).saying(message).detail("unsentTo", to),
            TeamError::StillInInbox { source } => Self::from(*source).saying(message),
        }
    }
}

impl From<TeamFileError> for Problem {
    fn from(error: TeamFileError) -> Self {
        let message = error.to_string();
        match error {
            TeamFileError::BadInbox { path, .. } => Self::new(ProblemKind::CouldNot, "bad_inbox", message)
                .hint("nothing is lost: `taskyard team mend` keeps what can be read and sets the torn file aside")
                .detail("path", path.display().to_string()),
            TeamFileError::BadTeamFile { path, .. } => Self::new(ProblemKind::CouldNot, "bad_team_file", message)
                .hint("`taskyard team mend` keeps what can be read and sets the torn file aside")
                .detail("path", path.display().to_string()),
            TeamFileError::TooManyConflicts { path, attempts } => Self::new(ProblemKind::GaveUp, "conflict", message)
                .hint("wait until the other program is done, then try again")
                .detail("path", path.display().to_string())
                .detail("attempts", attempts),
            #[cfg(feature = "teams")]
            TeamFileError::Memory(error) => Self::from(error).hint_where_none(
                "see that this path can be written and the disk has space, or set TASKYARD_HOME to another directory",
            ),
        }
    }
}

impl From<TeamRefusal> for Problem {
    fn from(refusal: TeamRefusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            TeamRefusal::NoSuchTeam { team, teams } => Self::new(ProblemKind::NotFound, "team_not_found", message)
                .hint(match teams.is_empty() {
                    true => format!("make it with `taskyard team create {team}`"),
                    false => format!("there is {}", teams.join(", ")),
                })
                .detail("team", team)
                .detail("teams", json!(teams)),
            TeamRefusal::NotInATeam { agent } => Self::new(ProblemKind::NotFound, "not_in_a_team", message)
                .hint("join one with `taskyard team join NAME`, or say with --as who you are")
                .detail("agent", agent),
            TeamRefusal::SeveralTeams { agent, teams } => Self::usage("several_teams", message)
                .hint("name the one you mean with --team")
                .detail("agent", agent)
                .detail("teams", json!(teams)),
            TeamRefusal::Unreachable(Unreachable::NoSuchMember { name, reachable, .. }) => {
                Self::new(ProblemKind::NotFound, "agent_not_found", message)
                    .hint(format!("nothing was sent; there is {}", reachable.join(", ")))
                    .detail("agent", name)
                    .detail("reachable", json!(reachable))
            }
            TeamRefusal::Unreachable(Unreachable::AnotherTeam { name, .. }) => {
                Self::new(ProblemKind::NotFound, "agent_not_found", message)
                    .hint("nothing was sent")
                    .detail("agent", name)
            }
            TeamRefusal::NameTaken { by, .. } => Self::new(ProblemKind::Refused, "team_exists", message)
                .hint("choose a name that differs in more than case and punctuation")
                .detail("team", by),
            TeamRefusal::AlreadyLeading { team } => Self::new(ProblemKind::Refused, "already_leading", message)
                .hint(format!("end it first with `taskyard team delete {team}`"))
                .detail("team", team),
            TeamRefusal::MembersLeft { team, members } => Self::new(ProblemKind::Refused, "members_left", message)
                .hint("ask each to end with `taskyard send --to NAME --request shutdown`, or overrule with --force")
                .detail("team", team)
                .detail("members", json!(members)),
            TeamRefusal::BadMemberName(BadMemberName::Unfit { name, .. }) => {
                Self::usage("bad_agent", message).hint("join under another name with --as").detail("agent", name)
            }
            TeamRefusal::BadMemberName(BadMemberName::SharesInbox { name, with }) => {
                Self::new(ProblemKind::Refused, "name_in_use", message)
                    .hint("join with --as under a name that differs in more than case and punctuation")
                    .detail("agent", name)
                    .detail("with", with)
            }
            TeamRefusal::LeadsIt { agent, team, .. } => Self::new(ProblemKind::Refused, "lead_stays", message)
                .hint("join under another name with --as")
                .detail("agent", agent)
                .detail("team", team),
            TeamRefusal::NameInUse { name, team } => Self::new(ProblemKind::Refused, "name_in_use", message)
                .hint("join under another name with --as")
                .detail("agent", name)
                .detail("team", team),
            TeamRefusal::LeadStays { team, .. } => Self::new(ProblemKind::Refused, "lead_stays", message)
                .hint(format!("end the team with `taskyard team delete {team}`"))
                .detail("team", team),
            TeamRefusal::NotTheLead { lead, team } => {
                Self::new(ProblemKind::Refused, "not_the_lead", message).detail("lead", lead).detail("team", team)
            }
        }
    }
}
