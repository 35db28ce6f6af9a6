//! Putting files that come back into their places: a whole folder by one rename, a single file where nothing has its name.
//!
//! These are files of the client's and of its like, so they get the modes they had and not our private ones.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::manifest::mode_of;
use super::{BackupError, BackupSource};
use crate::failpoint::reach;

/// What the names begin with under which files are made ready. Neither the client nor we take them for lists, tasks or teams.
const STAGING: &str = ".taskyard-restoring-";

/// Files of a backup that belong together.
pub(super) struct Files<'a> {
    pub(super) source: &'a BackupSource,
    /// The folder of the backup that they are in.
    pub(super) folder: &'a str,
    /// The permission bits of those that have not those of most files, by name.
    pub(super) modes: &'a BTreeMap<String, String>,
}

impl Files<'_> {
    /// Puts all of them into a folder that is not there, or is empty, by one rename. Returns false where something is in it.
    pub(super) fn put_folder(&self, place: &Path) -> Result<bool, BackupError> {
        let failed = |path: &Path| BackupError::io("cannot write", path.to_owned());
        if has_something(place) {
            return Ok(false);
        }
        let above = place.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(BackupError::io("cannot create", above))?;
        let staging = staging_of(place);
        remove(&staging).map_err(BackupError::io("cannot remove", &staging))?;
        fs::create_dir(&staging).map_err(BackupError::io("cannot create", &staging))?;
        let written = self.write_all(&staging).and_then(|()| {
            flush(&staging).map_err(BackupError::io("cannot flush", &staging))?;
            reach("restore: the files are ready");
            match fs::rename(&staging, place) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
                renamed => renamed.map(|()| true).map_err(failed(place)),
            }
        });
        if !matches!(written, Ok(true)) {
            let _ = remove(&staging);
        }
        if written.as_ref().is_ok_and(|written| *written) {
            let _ = File::open(above).and_then(|above| above.sync_all());
            reach("restore: the files are in their place");
        }
        written
    }

    /// Puts one of them into a place where nothing is. Returns false where something is there.
    pub(super) fn put_file(&self, name: &str, place: &Path) -> Result<bool, BackupError> {
        if place.symlink_metadata().is_ok() {
            return Ok(false);
        }
        let above = place.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(BackupError::io("cannot create", above))?;
        let staging = staging_of(place);
        remove(&staging).map_err(BackupError::io("cannot remove", &staging))?;
        let written = self.write(name, &staging).and_then(|file| {
            file.sync_all().map_err(BackupError::io("cannot flush", &staging))?;
            match renameat_with(CWD, &staging, CWD, place, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(true),
                Err(rustix::io::Errno::EXIST) => Ok(false),
                Err(error) => Err(BackupError::io("cannot write", place)(error.into())),
            }
        });
        if !matches!(written, Ok(true)) {
            let _ = remove(&staging);
        }
        reach("restore: a file is in its place");
        written
    }

    /// Writes all of them into a folder.
    pub(super) fn write_all(&self, folder: &Path) -> Result<(), BackupError> {
        for name in self.source.files_in(self.folder) {
            let path = folder.join(name);
            let above = path.parent().unwrap_or(folder);
            if above != folder {
                fs::create_dir_all(above).map_err(BackupError::io("cannot create", above))?;
            }
            self.write(name, &path)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, path: &Path) -> Result<File, BackupError> {
        let contents = self.source.read(&format!("{}/{name}", self.folder))?;
        let mode = mode_of(self.modes, name);
        let written = File::options().write(true).create_new(true).mode(mode).open(path).and_then(|mut file| {
            file.write_all(&contents)?;
            Ok(file)
        });
        written.map_err(BackupError::io("cannot write", path))
    }
}

/// Removes what a process left beside a directory when it died on the way to it.
pub(super) fn tidy(place: &Path) -> Result<(), BackupError> {
    let staging = staging_of(place);
    remove(&staging).map_err(BackupError::io("cannot remove", staging))
}

/// Tells whether something is there, and more than an empty folder.
pub(super) fn has_something(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::read_dir(place).map_or(true, |mut entries| entries.next().is_some()),
        Ok(_) => true,
        Err(_) => false,
    }
}

fn staging_of(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!("{STAGING}{name}"))
}

/// Removes what a process left that died on the way.
fn remove(staging: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(staging) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(staging),
        Ok(_) => fs::remove_file(staging),
        Err(error) => Err(error),
    };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(target_os = "linux")]
fn flush(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn flush(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
