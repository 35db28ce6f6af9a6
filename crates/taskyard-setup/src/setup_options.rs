//! Where the configuration of agents is, and what is wished to be in it.

use std::path::{Path, PathBuf};

use super::SetupError;

/// Where the configuration of agents is, and what is wished to be in it. The program that reads the environment fills it in.
#[derive(Clone, Debug, Default)]
pub struct SetupOptions {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The client's directory, where it is not `~/.claude`.
    pub claude_config: Option<PathBuf>,
    /// The directory of Codex, where it is not `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// The directory of Copilot CLI, where it is not `~/.copilot`.
    pub copilot_home: Option<PathBuf>,
    /// Where programs keep their configuration, where it is not `~/.config`.
    pub xdg_config: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The list that people work on in the project, where there is one for all of them.
    pub project_list: Option<String>,
    /// Whether the client is to show our status line.
    pub status_line: bool,
    /// The directories in which programs are looked for.
    pub programs: Vec<PathBuf>,
}

impl SetupOptions {
    /// Returns a path below the home directory.
    pub(super) fn in_home(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.home.as_deref().map(|home| home.join(below)).ok_or(SetupError::NoHome)
    }

    /// Returns a path below the directory in which programs keep their configuration.
    pub(super) fn in_config(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.moved_or_in_home(self.xdg_config.as_deref(), ".config", below)
    }

    /// Returns a path below a directory that may have been moved, else below its usual place in the home directory.
    pub(super) fn moved_or_in_home(
        &self,
        moved: Option<&Path>,
        usual: &str,
        file: &str,
    ) -> Result<PathBuf, SetupError> {
        match moved {
            Some(directory) => Ok(directory.join(file)),
            None => Ok(self.in_home(usual)?.join(file)),
        }
    }
}
