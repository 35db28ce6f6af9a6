//! Where the files of teams are, and our memory beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use taskyard_core::{ClientVersion, Rules, Team, TeamName};

use super::inbox::Inbox;
use super::known_whole::KnownWhole;
use super::memory::Memory;
use super::team_file::TeamFile;
use super::team_paths::{self, TeamPaths};
use crate::teams::{TeamError, TeamFileCare, TeamStore};

/// Where the files of teams are, and how they are written.
#[derive(Clone, Debug)]
pub struct FileTeamsOptions {
    /// The client's directory of teams.
    pub root: PathBuf,
    /// The client's directory of task lists.
    pub tasks: PathBuf,
    /// Our data directory.
    pub data: PathBuf,
    /// The rules in force: which release of the client the files are written for.
    pub rules: Rules,
}

/// The teams in one directory of the client's.
#[derive(Debug)]
pub struct FileTeams {
    pub(super) options: FileTeamsOptions,
    pub(super) paths: TeamPaths,
    memory: Mutex<Option<Memory>>,
    whole: KnownWhole,
}

impl TeamStore for FileTeams {
    fn care(&self) -> Option<&dyn TeamFileCare> {
        Some(self)
    }
}

impl FileTeams {
    /// Returns the teams. Nothing is read or made before it is asked for.
    pub fn new(options: FileTeamsOptions) -> Self {
        Self {
            paths: TeamPaths { root: options.root.clone() },
            options,
            memory: Mutex::default(),
            whole: KnownWhole::default(),
        }
    }

    pub(super) fn version(&self) -> ClientVersion {
        self.options.rules.client_version()
    }

    pub(super) fn file(&self, team: &TeamName) -> TeamFile {
        TeamFile { path: self.paths.file(team), queues: self.queues() }
    }

    pub(super) fn inbox(&self, path: PathBuf) -> Inbox {
        Inbox { path, queues: self.queues(), whole: self.whole.clone() }
    }

    /// Returns the key under which our memory knows a team.
    pub(super) fn key(&self, team: &Team) -> String {
        let directory = self.paths.team(&team.name);
        team_paths::key(&fs::canonicalize(&directory).unwrap_or(directory), team.created_at)
    }

    /// Returns the key under which our memory knows an inbox.
    pub(super) fn inbox_key(&self, team: &Team, member: &str) -> String {
        format!("{}/{member}", self.key(team))
    }

    /// Returns where entries that are no messages are kept.
    pub(super) fn set_aside_folder(&self) -> PathBuf {
        self.options.data.join("set-aside")
    }

    pub(super) fn queues(&self) -> PathBuf {
        self.options.data.join("inboxes")
    }

    /// Does something with our memory, making it where there is none.
    pub(super) fn remember<T>(&self, work: impl FnOnce(&mut Memory) -> Result<T, TeamError>) -> Result<T, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map_or(Ok(()), Memory::must_be_known)?;
        if memory.is_none() {
            *memory = Some(Memory::open(&self.options.data)?);
        }
        memory.as_mut().map_or_else(
            || Err(TeamError::io("cannot open", Path::new("teams.sqlite"))(std::io::ErrorKind::NotFound.into())),
            work,
        )
    }

    /// Looks something up in our memory; the default where there is none yet.
    pub(super) fn remembered<T: Default>(
        &self,
        work: impl FnOnce(&mut Memory) -> Result<T, TeamError>,
    ) -> Result<T, TeamError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map_or(Ok(()), Memory::must_be_known)?;
        if memory.is_none() {
            *memory = Memory::look(&self.options.data)?;
        }
        memory.as_mut().map_or_else(|| Ok(T::default()), work)
    }
}
