//! A place for backups beside a home, and homes that they come back to.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use taskyard_testkit::{Home, folder_in_memory, is_consistent_journal};
use tempfile::TempDir;

/// A directory for backups, in memory where the system has a place for that, as the homes are.
pub(crate) struct Vault(TempDir);

impl Vault {
    pub(crate) fn new() -> Self {
        Self(folder_in_memory())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the names of everything in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn home() -> Home {
    Home::in_memory(env!("CARGO_BIN_EXE_taskyard"))
}

/// Brings a backup back to a home in which nothing is.
pub(crate) fn brought_back(backup: &Path) -> Home {
    let home = home();
    home.ask(&format!("restore --from {}", backup.display()));
    home
}

/// Returns the files of a list as they are, by name; locks are left out.
pub(crate) fn files(list: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(list) else { return BTreeMap::new() };
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// Requires that nothing of what came back is wrong, that its files are those of the newest revision of its journal, and returns that
/// revision.
pub(crate) fn must_be_whole(home: &Home, list: &str) -> u64 {
    let history = home.ask(&format!("history --list {list}"));
    let present = taskyard_testkit::read_tasks(&home.list(list));
    is_consistent_journal(&history, &present).unwrap();
    let newest = history["entries"].as_array().unwrap().last().map_or(0, |entry| entry["revision"].as_u64().unwrap());
    let found = home.run(&format!("doctor --json --list {list}")).json();
    let journal_is_damaged = |finding: &Value| finding["code"].as_str().is_some_and(|code| code.contains("journal"));
    assert!(!found["findings"].as_array().unwrap().iter().any(journal_is_damaged), "{found}");
    newest
}

/// Requires that no other user can read a backup.
pub(crate) fn must_be_private(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    let wanted = if found.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(found.permissions().mode() & 0o7777, wanted, "{}", path.display());
    if found.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| must_be_private(&entry.unwrap().path()));
    }
}
