//! Errors and refusals about teams.

use std::io;
use std::path::{Path, PathBuf};

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::BadTeamFile;
use taskyard_core::rules::teams::mailing::Unreachable;
use taskyard_core::rules::teams::membership::BadMemberName;

#[cfg(feature = "teams")]
use crate::sqlite::DatabaseError;
use crate::store::StoreError;

/// Why an operation on a team failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files of a team could not be read or written, or are invalid.
    #[error(transparent)]
    Files(#[from] TeamFileError),
    /// A message could not be delivered.
    #[error("nothing was sent to {to}: {source}")]
    Unsent {
        /// The recipient.
        to: String,
        /// The reason.
        source: Box<TeamError>,
    },
    /// Messages count as acknowledged, but are still in the inbox. They are not shown again.
    #[error("acknowledged, and still in the inbox: {source}")]
    StillInInbox {
        /// The reason.
        source: Box<TeamError>,
    },
}

impl TeamError {
    /// Returns the database and its format if the error is that a newer Taskyard wrote it.
    pub fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            #[cfg(feature = "teams")]
            Self::Files(TeamFileError::Memory(error)) => error.newer_database(),
            Self::Unsent { source, .. } | Self::StillInInbox { source } => source.newer_database(),
            _ => None,
        }
    }

    /// Returns a function that wraps an I/O error, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let wrap = StoreError::io(doing, path);
        move |source| Self::Store(wrap(source))
    }
}

impl TeamError {
    pub(super) fn bad_inbox(path: impl Into<PathBuf>, why: BadInbox) -> Self {
        TeamFileError::BadInbox { path: path.into(), why }.into()
    }

    pub(super) fn bad_team_file(path: impl Into<PathBuf>, why: BadTeamFile) -> Self {
        TeamFileError::BadTeamFile { path: path.into(), why }.into()
    }

    pub(super) fn too_many_conflicts(path: impl Into<PathBuf>, attempts: u32) -> Self {
        TeamFileError::TooManyConflicts { path: path.into(), attempts }.into()
    }
}

#[cfg(feature = "teams")]
impl From<DatabaseError> for TeamError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Io { doing, path, source } => Self::io(doing, path)(source),
            error => Self::Files(TeamFileError::Memory(error)),
        }
    }
}

/// Why the files of a team could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamFileError {
    /// An inbox has invalid contents. It is left unchanged.
    #[error("inbox `{}` cannot be read and is left alone: {why}", .path.display())]
    BadInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: BadInbox,
    },
    /// A team file has invalid contents. It is left unchanged.
    #[error("team file `{}` cannot be read and is left alone: {why}", .path.display())]
    BadTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadTeamFile,
    },
    /// Other programs changed a file during every attempt to write it.
    #[error("`{}` was changed by other programs {attempts} times in a row while we tried to write it", .path.display())]
    TooManyConflicts {
        /// The file.
        path: PathBuf,
        /// The number of attempts.
        attempts: u32,
    },
    /// Our own database of teams failed.
    #[cfg(feature = "teams")]
    #[error(transparent)]
    Memory(#[from] DatabaseError),
}

/// Why a rule refuses an operation on a team. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamRefusal {
    /// There is no such team.
    #[error("there is no team `{}`", .team.escape_debug())]
    NoSuchTeam {
        /// The team that was asked for.
        team: String,
        /// The teams that exist.
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
    /// The recipient cannot be written to.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The name is taken, or yields the same directory as the name of another team.
    #[error("{}", taken(.team, .by))]
    NameTaken {
        /// The name that was requested.
        team: String,
        /// The team that uses the directory.
        by: String,
    },
    /// The acting agent leads another team.
    #[error("already leading team \"{team}\"")]
    AlreadyLeading {
        /// The team it leads.
        team: String,
    },
    /// A team that has members cannot be deleted.
    #[error("team {team} still has {}", .members.join(", "))]
    MembersLeft {
        /// The team.
        team: String,
        /// The members that prevent it.
        members: Vec<String>,
    },
    /// The name cannot be used for a member.
    #[error(transparent)]
    BadMemberName(#[from] BadMemberName),
    /// The agent that wants to join already leads the team.
    #[error("{agent} leads team {team} already, as {lead}")]
    LeadsIt {
        /// The agent that wants to join.
        agent: String,
        /// The team it leads.
        team: String,
        /// The lead's name in the team.
        lead: String,
    },
    /// A living member already has that name.
    #[error("there is a {name} in team {team} already")]
    NameInUse {
        /// The name that was requested.
        name: String,
        /// The team.
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
    /// Only the lead may answer plans.
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

/// The result of an operation that a rule may refuse.
pub type Judged<T> = Result<Result<T, TeamRefusal>, TeamError>;
