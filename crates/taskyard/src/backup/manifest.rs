//! What a backup says of itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use taskyard_core::Timestamp;

use super::BackupError;
use crate::opening::Address;

/// The name of the file.
pub(super) const FILE: &str = "MANIFEST.json";
/// The format of today. Another number after the slash is a newer one.
pub(super) const FORMAT: &str = "taskyard-backup/1";

/// What a backup holds. Keys that are not known are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The format.
    pub(crate) format: String,
    /// The version of the program that wrote it.
    pub taskyard: String,
    /// When it was begun.
    pub at: String,
    /// The address of the store, without a password.
    pub store: String,
    /// How the lists are written down.
    pub(crate) dialect: Dialect,
    /// Where the teams were.
    pub(crate) teams_place: Option<String>,
    /// The lists, by name.
    pub lists: Vec<BackedUpList>,
    /// The teams, by the names of their folders.
    pub teams: Vec<BackedUpTeam>,
}

/// How lists are written down in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub(crate) enum Dialect {
    /// The client's files.
    Native,
    /// Documents.
    Document,
    /// Teaching folders.
    Teaching,
}

/// One list of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpList {
    /// Its name.
    pub list: String,
    /// Its folder in the backup.
    pub(crate) folder: String,
    /// Where it was.
    pub(crate) path: String,
    /// The newest revision in it.
    pub revision: u64,
    /// Whether it had files; otherwise the backup has only its history.
    pub(crate) exists: bool,
    /// Whether its history is in the backup.
    pub journal: bool,
    /// How many files of it are.
    pub files: usize,
    /// Why its history, or something of it, is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_problem: Option<String>,
    /// The permission bits of its files, in octal digits, by name; those of others are 644.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) modes: BTreeMap<String, String>,
    /// What lay among its files and is not in the backup, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// One team of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpTeam {
    /// The name of its folder.
    pub team: String,
    /// How many files it has.
    pub files: usize,
    /// The permission bits of its files, in octal digits, by name; those of others are 644.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) modes: BTreeMap<String, String>,
    /// What lay among its files and is not in the backup, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns what a backup says that holds lists and nothing else.
    pub(super) fn of_lists(address: &Address, dialect: Dialect, at: Timestamp, lists: Vec<BackedUpList>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            taskyard: env!("CARGO_PKG_VERSION").to_owned(),
            at: at.to_string(),
            store: address.to_string(),
            dialect,
            teams_place: None,
            lists,
            teams: Vec::new(),
        }
    }

    /// Reads a manifest.
    pub(super) fn parse(text: &[u8], path: &Path) -> Result<Self, BackupError> {
        let not_one = |why: String| BackupError::NotABackup { path: path.to_owned(), why };
        let json: serde_json::Value = serde_json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        match json["format"].as_str() {
            Some(FORMAT) => serde_json::from_value(json).map_err(|error| not_one(error.to_string())),
            Some(format) if format.starts_with("taskyard-backup/") => {
                Err(BackupError::Newer { path: path.to_owned(), format: format.to_owned() })
            }
            _ => Err(not_one(format!("its {FILE} says nothing of taskyard"))),
        }
    }

    /// Writes the manifest down.
    pub(super) fn print(&self) -> String {
        // Names are text and numbers are numbers: nothing here can fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Tells whether every list has its history in the backup, and nothing was left out.
    pub fn is_complete(&self) -> bool {
        self.lists.iter().all(|list| list.journal_problem.is_none() && list.left_out.is_empty())
            && self.teams.iter().all(|team| team.left_out.is_empty())
    }
}

impl Dialect {
    /// Returns how a store of this address writes lists down; `None` if it keeps nothing. A database gives and takes the client's files.
    pub(super) fn of(address: &Address) -> Option<Self> {
        match address {
            Address::Claude | Address::File(_) | Address::Remote(_) => Some(Self::Native),
            Address::Documents | Address::Document(_) => Some(Self::Document),
            Address::Teaching(_) => Some(Self::Teaching),
            Address::Memory => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Native => "task files",
            Self::Document => "documents",
            Self::Teaching => "teaching folders",
        })
    }
}

/// Returns permission bits as octal digits, where they are not those of most files.
pub(super) fn modes_in_words(modes: BTreeMap<String, u32>) -> BTreeMap<String, String> {
    let unusual = modes.into_iter().filter(|(_, mode)| *mode != 0o644);
    unusual.map(|(name, mode)| (name, format!("{mode:o}"))).collect()
}

/// Returns the permission bits of a file; only those that a file of the client's may have.
pub(super) fn mode_of(modes: &BTreeMap<String, String>, name: &str) -> u32 {
    modes.get(name).and_then(|digits| u32::from_str_radix(digits, 8).ok()).map_or(0o644, |mode| mode & 0o777)
}
