//! Why an agent could not be set up.

use std::io;
use std::path::PathBuf;

use crate::config_edit::Unfit;

use super::Agent;
use taskyard::machine::MachineError;

/// Why an agent could not be set up. Nothing was written where planning failed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be edited. It is left as it is.
    #[error("`{}`, {unfit}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        unfit: Unfit,
    },
    /// Another program wrote a file between our planning and our writing.
    #[error("`{}` was changed by another program at this moment", .path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// What is needed to undo it cannot be kept or read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The agent keeps servers for a user only.
    #[error("{} knows no servers of a project", .agent.name())]
    OnlyForUser {
        /// The agent.
        agent: Agent,
    },
    /// The environment does not say where the home directory is.
    #[error("there is no home directory")]
    NoHome,
}

impl SetupError {
    /// Returns a function that wraps a system error with what was tried.
    pub(super) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
