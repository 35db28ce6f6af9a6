//! What only a place of files can do for teams: tell where they lie, and mend what other programs left torn.

use std::fmt::Debug;
use std::path::PathBuf;

use taskyard_core::{ListId, SpecialFile, TeamName};

use super::TeamError;
use super::teams_found::TeamsFound;
use crate::store::StuckLock;

/// What a place of files can do besides.
pub trait TeamFileCare: Debug + Send + Sync {
    /// Returns the path of a team's file.
    fn file_of(&self, team: &TeamName) -> PathBuf;

    /// Makes the directory of a team's list and the file that locks it, as the client does with a new team.
    fn make_list(&self, list: &ListId) -> Result<(), TeamError>;

    /// Fails where members could not be taken out of a team, before anything else is done that hangs on it.
    fn must_be_changeable(&self, team: &TeamName) -> Result<(), TeamError>;

    /// Fails where a team could not be removed, before anything else is done that hangs on it.
    fn must_be_removable(&self, team: &TeamName) -> Result<(), TeamError>;

    /// Looks for inboxes and team files that cannot be read, and for locks in the way; by path. Changes nothing. What may not be
    /// opened at all is an error of the system's and no trouble of the file: it is not among these.
    fn find_trouble(&self, found: TeamsFound) -> Vec<TeamTrouble>;

    /// Makes a torn file whole, under its lock: first it is copied as it is to `set-aside` in the data directory, then replaced by what
    /// can be read of it. Messages that are there in full stay, each once; of a team everything before the cut.
    ///
    /// A ghost is not mended here, because its tasks are to come back: `Yard::prune_team` does that.
    fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError>;
}

/// Something about a team that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TeamTrouble {
    /// An inbox cannot be read: no member can write to its owner.
    TornInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file of a team cannot be read: its members are in no team as far as we can tell.
    TornTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something that is no regular file in the place of an inbox or of a team's file. It is never opened.
    SpecialFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: SpecialFile,
        /// Whether it is in the place of an inbox.
        is_inbox: bool,
    },
    /// A lock on one of these files that would last for ever, or whose holder is gone.
    LockInTheWay {
        /// The lock.
        path: PathBuf,
        /// What is wrong with it.
        why: StuckLock,
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
    /// It was out of place, and has another name now, or is gone.
    SetAside,
    /// It was whole: another program had been writing it, or has mended it.
    WasWhole,
    /// It is too large, no file, or nothing in it makes a team; it is left alone.
    BeyondMending,
}
