//! Finds and repairs damaged team files and inboxes, including those that the client emptied.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::{BadTeamFile, LARGEST};
use taskyard_core::dialect::{inbox, team_file};
use taskyard_core::{ListId, TeamName, inbox_name};

use crate::store::{Found, Guarded, end_lock_of, read_unlocked, stuck_lock_of};
use crate::teams::files::file_teams::FileTeams;
use crate::teams::{Mended, TeamError, TeamFileCare, TeamFileError, TeamTrouble, TeamsFound};
use crate::{private, regular_file, system};

/// How many times to try a change that conflicts with a client that writes without the lock.
const ATTEMPTS: u32 = 16;
/// How many names are tried for a file that is set aside.
const ASIDE: usize = 1000;

impl TeamFileCare for FileTeams {
    fn file_of(&self, team: &TeamName) -> PathBuf {
        self.paths.file(team)
    }

    fn make_list(&self, list: &ListId) -> Result<(), TeamError> {
        self.make_directory_of(list)
    }

    fn must_be_changeable(&self, team: &TeamName) -> Result<(), TeamError> {
        self.file(team).must_be_changeable()
    }

    fn must_be_removable(&self, team: &TeamName) -> Result<(), TeamError> {
        let allowed = rustix::fs::access(&self.options.root, rustix::fs::Access::WRITE_OK);
        allowed.map_err(|error| TeamError::io("cannot write", &self.options.root)(error.into()))?;
        self.must_be_changeable(team)
    }

    fn find_trouble(&self, found: TeamsFound) -> Vec<TeamTrouble> {
        let mut troubles = Vec::new();
        for unreadable in found.unreadable {
            troubles.extend(match unreadable.error {
                TeamError::Files(TeamFileError::BadTeamFile { path, why: BadTeamFile::NotAFile { found } }) => {
                    Some(TeamTrouble::SpecialFile { path, found, is_inbox: false })
                }
                TeamError::Files(TeamFileError::BadTeamFile { path, why }) => {
                    Some(TeamTrouble::TornTeamFile { path, why: why.to_string() })
                }
                _ => None,
            });
        }
        for inbox in self.all_inboxes() {
            troubles.extend(match self.inbox(inbox).read() {
                Err(TeamError::Files(TeamFileError::BadInbox { path, why: BadInbox::NotAFile { found } })) => {
                    Some(TeamTrouble::SpecialFile { path, found, is_inbox: true })
                }
                Err(TeamError::Files(TeamFileError::BadInbox { path, why })) => {
                    Some(TeamTrouble::TornInbox { path, why: why.to_string() })
                }
                _ => None,
            });
        }
        for path in self.all_locks() {
            let why = stuck_lock_of(&path.with_extension(""), &self.queues());
            troubles.extend(why.map(|why| TeamTrouble::LockInTheWay { path, why }));
        }
        troubles
    }

    fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError> {
        match trouble {
            TeamTrouble::TornInbox { path, .. } => self.mend_file(
                path,
                inbox::LARGEST,
                |bytes| inbox::read(bytes).is_ok(),
                |bytes| {
                    let saved = inbox::salvage(bytes);
                    Some((saved.bytes, saved.messages))
                },
            ),
            TeamTrouble::TornTeamFile { path, .. } => self.mend_file(
                path,
                team_file::LARGEST,
                |bytes| team_file::read(bytes).is_ok(),
                |bytes| {
                    let saved = team_file::salvage(bytes)?;
                    let members = team_file::read(&saved).ok()?.members.len();
                    Some((saved, members))
                },
            ),
            TeamTrouble::SpecialFile { path, .. } => self.set_aside(path),
            TeamTrouble::LockInTheWay { path, .. } => {
                let ended = end_lock_of(&path.with_extension(""), &self.queues());
                let is_gone = ended.map_err(TeamError::io("cannot take away the lock", path))?;
                Ok(if is_gone { Mended::SetAside } else { Mended::BeyondMending })
            }
            TeamTrouble::Ghost { .. } => Ok(Mended::BeyondMending),
        }
    }
}

impl FileTeams {
    /// Renames something that is not a regular file, without opening it.
    fn set_aside(&self, path: &Path) -> Result<Mended, TeamError> {
        let failed = || TeamError::io("cannot rename", path);
        if regular_file::special_at(path).map_err(failed())?.is_none() {
            return Ok(Mended::WasWhole);
        }
        let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
        let names = (1..).map(|number| match number {
            1 => path.with_added_extension("unreadable"),
            number => path.with_added_extension(format!("unreadable-{number}")),
        });
        let Some(aside) = names.take(ASIDE).find(is_free) else { return Ok(Mended::BeyondMending) };
        fs::rename(path, aside).map_err(failed())?;
        Ok(Mended::SetAside)
    }

    /// Returns the inboxes of all teams.
    fn all_inboxes(&self) -> Vec<PathBuf> {
        let inboxes = self.team_folders().into_iter().flat_map(|team| entries(&team.join("inboxes")));
        let is_inbox = |path: &PathBuf| !is_hidden(path) && path.extension().is_some_and(|end| end == "json");
        let mut inboxes: Vec<PathBuf> = inboxes.filter(is_inbox).collect();
        inboxes.sort();
        inboxes
    }

    /// Returns every lock on an inbox or a team file.
    fn all_locks(&self) -> Vec<PathBuf> {
        let folders = self.team_folders().into_iter().flat_map(|team| [team.join("inboxes"), team]);
        let is_lock = |path: &PathBuf| path.to_string_lossy().ends_with(".json.lock");
        let mut locks: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).filter(is_lock).collect();
        locks.sort();
        locks
    }

    fn team_folders(&self) -> Vec<PathBuf> {
        entries(&self.options.root).into_iter().filter(|path| !is_hidden(path)).collect()
    }

    fn mend_file(
        &self,
        path: &Path,
        largest: u64,
        is_whole: impl Fn(&[u8]) -> bool,
        salvage: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>,
    ) -> Result<Mended, TeamError> {
        // A program that writes without the lock finishes soon.
        for _ in 0..ATTEMPTS {
            if fs::symlink_metadata(path).is_err() {
                return Ok(Mended::WasWhole);
            }
            let mut guarded = Guarded::lock(path, &self.queues(), b"")?;
            let Found::Bytes(bytes) = guarded.read(largest)? else { return Ok(Mended::BeyondMending) };
            if is_whole(&bytes) {
                return Ok(Mended::WasWhole);
            }
            let Some((mended, saved)) = salvage(&bytes) else { return Ok(Mended::BeyondMending) };
            // Kept before it is replaced, so that it always exists somewhere.
            let kept = self.keep(path, &bytes)?;
            if guarded.replace(&mended)? {
                return Ok(Mended::Whole { kept, saved });
            }
        }
        Err(TeamError::too_many_conflicts(path, ATTEMPTS))
    }

    /// Stores a copy of a file.
    fn keep(&self, path: &Path, bytes: &[u8]) -> Result<PathBuf, TeamError> {
        let folder = self.set_aside_folder();
        private::make_directory(&folder).map_err(TeamError::io("cannot create", &folder))?;
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_stem).map(|name| inbox_name(&name.to_string_lossy())).unwrap_or_default()
        };
        let team = path.ancestors().nth(if path.ends_with("config.json") { 1 } else { 2 });
        let kept = folder.join(format!("{}-{}-{}.torn", name(team), name(Some(path)), system::wall() / 1_000));
        let written = private::create(&kept).and_then(|mut file| {
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_data()
        });
        written.map_err(TeamError::io("cannot write", &kept))?;
        Ok(kept)
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

/// How long a program that truncated a file to rewrite it may take to write the contents.
const WRITTEN_BY_THEN: Duration = Duration::from_millis(250);

impl FileTeams {
    /// Restores the last known contents of a team file if it is empty and stays so. Nothing but an empty file is ever
    /// overwritten. If this fails, the caller finds the file empty.
    pub(super) fn bring_back_emptied(&self, path: &Path) {
        if let Err(error) = self.try_to_bring_back(path) {
            tracing::warn!(%error, "the file of a team is empty, and what it held cannot be brought back");
        }
    }

    fn try_to_bring_back(&self, path: &Path) -> Result<(), TeamError> {
        let is_empty = || fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
        if !is_empty() {
            return Ok(());
        }
        let Some(content) = self.remembered(|memory| memory.last_file(&directory_of(path)))? else { return Ok(()) };
        thread::sleep(WRITTEN_BY_THEN);
        if !is_empty() {
            return Ok(());
        }
        let mut guarded = Guarded::lock(path, &self.queues(), b"")?;
        if matches!(guarded.read(LARGEST)?, Found::Bytes(bytes) if bytes.is_empty()) && guarded.replace(&content)? {
            tracing::warn!(path = %path.display(), "another program left the file of a team empty; what it held is there again");
        }
        Ok(())
    }

    /// Records the contents of a team file after we changed it. A failure to record them does not fail the change.
    pub(super) fn keep_whole(&self, path: &Path) {
        if let Err(error) = self.try_to_keep(path) {
            tracing::debug!(%error, "what the file of a team holds is not remembered");
        }
    }

    fn try_to_keep(&self, path: &Path) -> Result<(), TeamError> {
        let found = read_unlocked(path, LARGEST).map_err(TeamError::io("cannot read", path))?;
        let Found::Bytes(bytes) = found else { return Ok(()) };
        if team_file::read(&bytes).is_err() {
            return Ok(());
        }
        self.remember(|memory| memory.keep_file(&directory_of(path), &bytes))
    }

    /// Deletes the recorded contents of a team file.
    pub(super) fn forget_whole(&self, path: &Path) -> Result<(), TeamError> {
        self.remember(|memory| memory.forget_file(&directory_of(path)))
    }
}

/// Returns the key of a team's directory in our database.
fn directory_of(path: &Path) -> String {
    let directory = path.parent().unwrap_or(path);
    fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).to_string_lossy().into_owned()
}
