//! The file of one team on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::Access;
use rustix::io::Errno;
use taskyard_core::dialect::team_file::{self, BadTeamFile, LARGEST};
use taskyard_core::{ClientVersion, Member, Team};

use crate::store::{Found, Guarded, read_unlocked};
use crate::teams::{Added, TeamError};

const ATTEMPTS: u32 = 16;
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct TeamFile {
    pub(super) path: PathBuf,
    pub(super) queues: PathBuf,
}

impl TeamFile {
    /// Reads the team; `None` if the file does not exist. Retries for a while if it seems incompletely written.
    pub(super) fn read(&self) -> Result<Option<Team>, TeamError> {
        read(&self.path)
    }

    /// Writes the first file of a team, whose directory must exist. Returns `false` without changing anything if there
    /// is a file already.
    pub(super) fn create(&self, team: &Team, version: ClientVersion) -> Result<bool, TeamError> {
        let bytes = team_file::create(team, version);
        if self.path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        // These bytes become the initial contents, so if two processes create a team of the same name, one of them
        // finds contents other than its own.
        let mut guarded = Guarded::lock(&self.path, &self.queues, &bytes)?;
        Ok(matches!(guarded.read(LARGEST)?, Found::Bytes(found) if found == bytes))
    }

    /// Fails if the file cannot be changed. Called before anything that depends on it.
    pub(super) fn must_be_changeable(&self) -> Result<(), TeamError> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        for path in [directory, &self.path] {
            match rustix::fs::access(path, Access::WRITE_OK) {
                // If the team is gone, its members have left it as well.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(TeamError::io("cannot write", path)(error.into())),
            }
        }
        Ok(())
    }

    /// Adds a member, in its previous colour or one that no member has; `None` if the file does not exist.
    pub(super) fn add(&self, member: &Member, version: ClientVersion) -> Result<Option<Added>, TeamError> {
        self.change(|bytes| {
            // Of several members that join at once, each must see the colours of the others.
            let there = team_file::read(bytes)?;
            let color = Some(there.colour_for(&member.name));
            let changed = team_file::with_member(bytes, &Member { color, ..member.clone() }, version)?;
            let added = Added { team: team_file::read(&changed)?, was_there: there.member(&member.name).is_some() };
            Ok((changed, added))
        })
    }

    /// Removes a member; returns whether it was there.
    pub(super) fn remove(&self, name: &str) -> Result<bool, TeamError> {
        let was_there = self.change(|bytes| {
            let changed = team_file::without_member(bytes, name)?;
            let was_there = changed != bytes;
            Ok((changed, was_there))
        })?;
        Ok(was_there.unwrap_or(false))
    }

    /// Changes the file, and returns the result of `change`; `None` if the file does not exist.
    fn change<T>(&self, change: impl Fn(&[u8]) -> Result<(Vec<u8>, T), BadTeamFile>) -> Result<Option<T>, TeamError> {
        let bad = |why| TeamError::bad_team_file(&self.path, why);
        for _ in 0..ATTEMPTS {
            match self.path.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(TeamError::io("cannot open", &self.path)(error)),
                Ok(_) => {}
            }
            let mut guarded = Guarded::lock(&self.path, &self.queues, b"")?;
            let bytes = bytes_of(guarded.read(LARGEST)?).map_err(bad)?;
            let (changed, answer) = change(&bytes).map_err(bad)?;
            if changed == bytes || guarded.replace(&changed)? {
                return Ok(Some(answer));
            }
        }
        Err(TeamError::too_many_conflicts(&self.path, ATTEMPTS))
    }
}

/// Reads a team from its file; `None` if the file does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Team>, TeamError> {
    let mut pause = Duration::from_millis(1);
    loop {
        let why = match read_unlocked(path, LARGEST).map_err(TeamError::io("cannot read", path))? {
            Found::Nothing => return Ok(None),
            found => match bytes_of(found).and_then(|bytes| team_file::read(&bytes)) {
                Ok(team) => return Ok(Some(team)),
                Err(why) => why,
            },
        };
        // The client writes in place, so the file may be incomplete at the moment.
        if !matches!(why, BadTeamFile::NotJson { .. }) || pause > LONGEST_PAUSE {
            return Err(TeamError::bad_team_file(path, why));
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

fn bytes_of(found: Found) -> Result<Vec<u8>, BadTeamFile> {
    match found {
        Found::Bytes(bytes) => Ok(bytes),
        Found::TooLarge(size) => Err(BadTeamFile::TooLarge { size }),
        Found::NotAFile(found) => Err(BadTeamFile::NotAFile { found }),
        Found::Nothing => Err(BadTeamFile::NotATeam { why: "it is gone" }),
    }
}
