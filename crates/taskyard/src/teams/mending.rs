//! Teams and inboxes that are not whole: found, and mended without losing anything.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::dialect::{inbox, team_file};
use taskyard_core::{Team, inbox_name};

use super::register::{Teams, TeamsFound};
use super::{Liveness, TeamError};
use crate::store::{Found, Guarded};
use crate::{clock, private};

/// How often a change begins again because somebody wrote without the lock.
const ATTEMPTS: u32 = 16;

/// Something about a team that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamTrouble {
    /// An inbox cannot be read: nobody can write to its owner.
    TornInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file of a team cannot be read: its members are in no team as far as anybody can tell.
    TornTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What a member lived with has ended. `Yard::prune_team` takes it out.
    Ghost {
        /// The team.
        team: String,
        /// The member.
        name: String,
        /// The process it lived with, where that is known.
        process: Option<u32>,
    },
}

/// What came of mending a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mended {
    /// It is whole again.
    Whole {
        /// Where it is kept as it was.
        kept: PathBuf,
        /// How many messages, or members, could be read.
        saved: usize,
    },
    /// It was whole: somebody had been writing it, or has mended it.
    WasWhole,
    /// It is too large, no file, or nothing in it makes a team; it is left alone.
    BeyondMending,
}

impl Teams {
    /// Looks for inboxes and team files that cannot be read, and for members whose process has ended; by path and name.
    ///
    /// Changes nothing. What may not be opened at all is an error of the system's and no trouble of the file: it is not among these.
    pub fn find_trouble(&self) -> Result<Vec<TeamTrouble>, TeamError> {
        let TeamsFound { teams, unreadable } = self.look_around()?;
        let mut troubles = Vec::new();
        for (_, error) in unreadable {
            if let TeamError::BadTeamFile { path, why } = error {
                troubles.push(TeamTrouble::TornTeamFile { path, why: why.to_string() });
            }
        }
        for inbox in self.all_inboxes() {
            if let Err(TeamError::BadInbox { path, why }) = self.inbox(inbox).read() {
                troubles.push(TeamTrouble::TornInbox { path, why: why.to_string() });
            }
        }
        for team in &teams {
            troubles.extend(self.ghosts(team)?);
        }
        Ok(troubles)
    }

    /// Makes a torn file whole, under its lock: first it is copied as it is to `set-aside` in the data directory, then replaced by what
    /// can be read of it. Messages that are there in full stay, each once; of a team everything before the cut.
    ///
    /// A ghost is not mended here, because its tasks are to come back: `Yard::prune_team` does that.
    pub fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError> {
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
            TeamTrouble::Ghost { .. } => Ok(Mended::BeyondMending),
        }
    }

    fn ghosts(&self, team: &Team) -> Result<Vec<TeamTrouble>, TeamError> {
        let mut ghosts = Vec::new();
        for member in team.members.iter().filter(|member| !member.is_lead()) {
            if self.liveness(team, member)? == Liveness::Dead {
                ghosts.push(TeamTrouble::Ghost {
                    team: team.name.to_string(),
                    name: member.name.clone(),
                    process: self.process_of(team, member)?,
                });
            }
        }
        Ok(ghosts)
    }

    /// Returns every inbox, of whatever team.
    fn all_inboxes(&self) -> Vec<PathBuf> {
        let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_hidden = |path: &PathBuf| path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let teams = files(&self.options.root).filter(|path| !is_hidden(path));
        let inboxes = teams.flat_map(|team| files(&team.join("inboxes")).collect::<Vec<_>>());
        let is_inbox = |path: &PathBuf| !is_hidden(path) && path.extension().is_some_and(|end| end == "json");
        let mut inboxes: Vec<PathBuf> = inboxes.filter(is_inbox).filter(|path| !path.is_dir()).collect();
        inboxes.sort();
        inboxes
    }

    fn mend_file(
        &self,
        path: &Path,
        largest: u64,
        is_whole: impl Fn(&[u8]) -> bool,
        salvage: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>,
    ) -> Result<Mended, TeamError> {
        // Whoever writes without the lock is soon done.
        for _ in 0..ATTEMPTS {
            if !path.exists() {
                return Ok(Mended::WasWhole);
            }
            let mut guarded = Guarded::lock(path, &self.queues(), b"")?;
            let Found::Bytes(bytes) = guarded.read(largest)? else { return Ok(Mended::BeyondMending) };
            if is_whole(&bytes) {
                return Ok(Mended::WasWhole);
            }
            let Some((mended, saved)) = salvage(&bytes) else { return Ok(Mended::BeyondMending) };
            // Kept before it is replaced, so that it is never nowhere.
            let kept = self.keep(path, &bytes)?;
            if guarded.replace(&mended)? {
                return Ok(Mended::Whole { kept, saved });
            }
        }
        Err(TeamError::TooManyConflicts { path: path.to_owned(), attempts: ATTEMPTS })
    }

    /// Keeps a file as it is.
    fn keep(&self, path: &Path, bytes: &[u8]) -> Result<PathBuf, TeamError> {
        let folder = self.set_aside_folder();
        private::make_directory(&folder).map_err(TeamError::io("cannot create", &folder))?;
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_stem).map(|name| inbox_name(&name.to_string_lossy())).unwrap_or_default()
        };
        let team = path.ancestors().nth(if path.ends_with("config.json") { 1 } else { 2 });
        let kept = folder.join(format!("{}-{}-{}.torn", name(team), name(Some(path)), clock::wall() / 1_000));
        let written = private::create(&kept).and_then(|mut file| {
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_data()
        });
        written.map_err(TeamError::io("cannot write", &kept))?;
        Ok(kept)
    }
}
