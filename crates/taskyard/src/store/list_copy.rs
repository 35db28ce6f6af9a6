//! A list as a backup carries it elsewhere: its files and our memory of it, both of one moment.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use taskyard_core::Revision;

use super::StoreError;
use crate::regular_file::{self, NotRead};

/// Larger files than this are no part of any list, and are left where they are.
const LARGEST: u64 = 256 * 1024 * 1024;
/// A file that no program touched for this long is not in the middle of being written.
const SURELY_WRITTEN: Duration = Duration::from_secs(2);
/// What may be half written is read again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);
const BREATH: Duration = Duration::from_millis(5);
/// Folders within folders are followed so far.
const DEEPEST: usize = 16;

/// Takes a list that is copied, piece by piece.
pub trait ListCopyTarget {
    /// Takes our memory of the list: `fill` makes a private file of that name and writes it.
    fn take_journal(&mut self, fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError>;

    /// Takes a file of the list, by its name within the list's place.
    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError>;
}

/// What was copied of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListCopy {
    /// The moment: the newest revision that the copy holds.
    pub revision: Revision,
    /// Whether the list had a place; otherwise only our memory of it was copied.
    pub exists: bool,
    /// Whether our memory of it was copied.
    pub has_journal: bool,
    /// Why it was not, where there is one.
    pub journal_problem: Option<String>,
    /// The permission bits of each file, by name.
    pub modes: BTreeMap<String, u32>,
    /// What lies among the files and was not copied, with the reason.
    pub left_out: Vec<(String, String)>,
}

impl ListCopy {
    /// Hands a file to the taker of the copy, and remembers its permission bits.
    pub(crate) fn add(
        &mut self,
        to: &mut dyn ListCopyTarget,
        name: &str,
        contents: &[u8],
        mode: Option<u32>,
    ) -> Result<(), StoreError> {
        to.take_file(name, contents)?;
        // Where we have not seen them, they are those of a new file.
        self.modes.insert(name.to_owned(), mode.unwrap_or(0o644));
        Ok(())
    }

    /// Copies what lies in a folder as it is, but what `is_passed_over` says is no part of it. Links are not followed.
    pub(crate) fn add_folder(
        &mut self,
        to: &mut dyn ListCopyTarget,
        folder: &Path,
        is_passed_over: &dyn Fn(&str, &fs::Metadata) -> bool,
    ) -> Result<(), StoreError> {
        self.add_below(to, folder, "", is_passed_over, DEEPEST)
    }

    fn add_below(
        &mut self,
        to: &mut dyn ListCopyTarget,
        folder: &Path,
        prefix: &str,
        is_passed_over: &dyn Fn(&str, &fs::Metadata) -> bool,
        deepest: usize,
    ) -> Result<(), StoreError> {
        let entries = fs::read_dir(folder).map_err(StoreError::io("cannot list", folder))?;
        for entry in entries {
            let entry = entry.map_err(StoreError::io("cannot list", folder))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                self.leave_out(&format!("{prefix}{}", entry.file_name().to_string_lossy()), "its name is no text");
                continue;
            };
            let found = match entry.metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::io("cannot look at", path)(error)),
            };
            let full_name = format!("{prefix}{name}");
            if is_passed_over(&full_name, &found) {
                continue;
            }
            if found.is_dir() && deepest > 0 {
                self.add_below(to, &path, &format!("{full_name}/"), is_passed_over, deepest - 1)?;
            } else {
                self.add_as_it_is(to, &path, &full_name)?;
            }
        }
        Ok(())
    }

    /// Copies a file as it is; what cannot be read as one is left out.
    pub(crate) fn add_as_it_is(
        &mut self,
        to: &mut dyn ListCopyTarget,
        path: &Path,
        name: &str,
    ) -> Result<(), StoreError> {
        let mode = fs::symlink_metadata(path).ok().map(|found| found.mode() & 0o7777);
        match read_settled(path) {
            Ok(contents) => self.add(to, name, &contents, mode),
            Err(why) if why.is_missing() => Ok(()),
            Err(NotRead::System(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
                Err(StoreError::io("cannot read", path)(error))
            }
            Err(why) => {
                self.leave_out(name, &why.to_string());
                Ok(())
            }
        }
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push((name.to_owned(), why.to_owned()));
    }
}

/// Reads a file. Other programs write JSON in place: what is half written at this instant is read again for a while.
fn read_settled(path: &Path) -> Result<Vec<u8>, NotRead> {
    let started = Instant::now();
    loop {
        let contents = regular_file::read(path, LARGEST)?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let is_torn = || serde_json::from_slice::<IgnoredAny>(&contents).is_err();
        let changed = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
        let is_fresh = changed.is_some_and(|at| at.elapsed().is_ok_and(|age| age < SURELY_WRITTEN));
        if !is_json || !is_fresh || started.elapsed() > LOOKING_AGAIN || !is_torn() {
            return Ok(contents);
        }
        thread::sleep(BREATH);
    }
}

/// Tells whether a directory of this name is a lock of the client's, of no use in a copy.
pub(crate) fn is_lock(name: &str, found: &fs::Metadata) -> bool {
    found.is_dir() && name.ends_with(".lock")
}
