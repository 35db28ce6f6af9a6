//! The manifest of a backup, and the checksums of its files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use taskyard_core::Timestamp;

use super::BackupError;
use crate::opening::Address;

pub(super) const MANIFEST_FILE: &str = "MANIFEST.json";
/// The current format. A different number after the slash means a newer one.
pub(super) const FORMAT: &str = "taskyard-backup/1";

/// The contents of a backup. Unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub(crate) format: String,
    /// The Taskyard version that wrote it.
    pub taskyard: String,
    /// When the backup was begun.
    pub at: String,
    /// The address of the store, without a password.
    pub store: String,
    pub(crate) dialect: Dialect,
    pub(crate) teams_place: Option<String>,
    /// The lists, sorted by name.
    pub lists: Vec<BackedUpList>,
    /// The teams, sorted by folder name.
    pub teams: Vec<BackedUpTeam>,
}

/// The file format of lists.
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

/// A list in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpList {
    /// The name of the list.
    pub list: String,
    pub(crate) folder: String,
    pub(crate) path: String,
    /// The newest revision in the backup.
    pub revision: u64,
    /// Whether the list had files; otherwise the backup contains only its history.
    pub(crate) exists: bool,
    /// Whether the backup contains its history.
    pub journal: bool,
    /// Number of files.
    pub files: usize,
    /// Why its history is missing or incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_problem: Option<String>,
    /// Permission bits as octal digits, keyed by file name, of files whose mode is not 644.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) modes: BTreeMap<String, String>,
    /// Files that were not backed up, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

/// A team in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpTeam {
    /// The name of the team's folder.
    pub team: String,
    /// Number of files.
    pub files: usize,
    /// Permission bits as octal digits, keyed by file name, of files whose mode is not 644.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) modes: BTreeMap<String, String>,
    /// Files that were not backed up, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns the manifest of a backup that contains only lists.
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

    pub(super) fn parse(text: &[u8], path: &Path) -> Result<Self, BackupError> {
        let not_one = |why: String| BackupError::NotABackup { path: path.to_owned(), why };
        let json: serde_json::Value = serde_json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        match json["format"].as_str() {
            Some(FORMAT) => serde_json::from_value(json).map_err(|error| not_one(error.to_string())),
            Some(format) if format.starts_with("taskyard-backup/") => {
                Err(BackupError::Newer { path: path.to_owned(), format: format.to_owned() })
            }
            _ => Err(not_one(format!("its {MANIFEST_FILE} says nothing of taskyard"))),
        }
    }

    pub(super) fn print(&self) -> String {
        // There are only strings and numbers, so this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns whether the history of every list was backed up and no file was left out.
    pub fn is_complete(&self) -> bool {
        self.lists.iter().all(|list| list.journal_problem.is_none() && list.left_out.is_empty())
            && self.teams.iter().all(|team| team.left_out.is_empty())
    }
}

impl Dialect {
    /// Returns the file format of a store with this address; `None` if it keeps nothing. A database imports and exports
    /// the client's format.
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

/// Returns the permission bits that differ from 644, as octal digits.
pub(super) fn modes_in_words(modes: BTreeMap<String, u32>) -> BTreeMap<String, String> {
    let unusual = modes.into_iter().filter(|(_, mode)| *mode != 0o644);
    unusual.map(|(name, mode)| (name, format!("{mode:o}"))).collect()
}

/// Returns the permission bits of a file, restricted to those that the client's files may have.
pub(super) fn mode_of(modes: &BTreeMap<String, String>, name: &str) -> u32 {
    modes.get(name).and_then(|digits| u32::from_str_radix(digits, 8).ok()).map_or(0o644, |mode| mode & 0o777)
}

pub(super) const SUMS_FILE: &str = "SHA256SUMS";

pub(super) type Sum = [u8; 32];

/// The checksums of all files, keyed by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(pub(super) BTreeMap<String, Sum>);

pub(super) fn sum_of(bytes: &[u8]) -> Sum {
    Sha256::digest(bytes).into()
}

/// Returns the checksum of everything that can be read.
pub(super) fn sum_of_all(mut from: impl Read) -> io::Result<Sum> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(read) => digest.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Sums {
    /// Prints one line per file. Names with line breaks or backslashes are escaped as by `sha256sum`.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        for (name, sum) in &self.0 {
            let escaped = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
            if escaped != *name {
                text.push('\\');
            }
            for byte in sum {
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(text, "  {escaped}");
        }
        text
    }

    /// Parses the lines; `None` if one of them is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.lines().map(line).collect::<Option<BTreeMap<_, _>>>().map(Self)
    }
}

fn line(line: &str) -> Option<(String, Sum)> {
    let (line, is_escaped) = line.strip_prefix('\\').map_or((line, false), |line| (line, true));
    let (digits, name) = line.split_at_checked(64)?;
    let name = name.strip_prefix("  ").or_else(|| name.strip_prefix(" *"))?;
    let mut sum = Sum::default();
    for (byte, place) in sum.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(place..place + 2)?, 16).ok()?;
    }
    Some((if is_escaped { unescaped(name) } else { name.to_owned() }, sum))
}

fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::{SUMS_FILE, Sums, sum_of, sum_of_all};

    #[test]
    fn the_sums_are_those_that_sha256sum_checks_whatever_the_names() {
        let folder = tempfile::tempdir().unwrap();
        let mut sums = Sums::default();
        for name in ["plain.json", "with space", "line\nend", "back\\slash", "ümlaut"] {
            fs::write(folder.path().join(name), name).unwrap();
            sums.0.insert(name.to_owned(), sum_of(name.as_bytes()));
            assert_eq!(sum_of_all(name.as_bytes()).unwrap(), sum_of(name.as_bytes()));
        }
        fs::write(folder.path().join(SUMS_FILE), sums.print()).unwrap();
        let check = |folder| {
            Command::new("sha256sum").args(["-c", "--strict", SUMS_FILE]).current_dir(folder).output().unwrap()
        };
        let checked = check(folder.path());
        assert!(checked.status.success(), "{checked:?}");
        assert_eq!(Sums::parse(&sums.print()), Some(sums));
        fs::write(folder.path().join("plain.json"), "other").unwrap();
        assert!(!check(folder.path()).status.success());
    }

    #[test]
    fn what_is_no_line_of_sums_is_not_taken_for_one() {
        for text in ["x", &"0".repeat(64), &format!("{} one", "g".repeat(64)), &format!("{}x  one", "0".repeat(63))] {
            assert_eq!(Sums::parse(text), None, "{text}");
        }
    }
}
