//! Writing a backup: beside its place first, and into it by one rename when everything is on the disk.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::archive::ArchiveWriter;
use super::manifest::{self, Manifest};
use super::sums::{self, Sums, sum_of, sum_of_all};
use super::{BackupError, BackupSource};
use crate::clock;
use crate::failpoint::reach;
use crate::private::{create_new, make_directory};

/// What ends the name of the place in which a backup is made ready.
const PARTIAL: &str = ".taskyard-partial";
/// What ends the name of an archive.
const ARCHIVE: &str = "tar";
/// What archives of other kinds end with.
const OTHER_ARCHIVES: [&str; 9] = ["gz", "tgz", "zip", "zst", "xz", "bz2", "7z", "sqlite", "db"];

/// What becomes of a backup that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwriting {
    /// It stays, and no other one is made.
    Refused,
    /// The new one takes its place, when it is whole.
    Replacing,
}

/// A backup that is being written. Dropped before it is finished, nothing of it stays.
pub(super) struct Writer {
    place: PathBuf,
    overwriting: Overwriting,
    staging: PathBuf,
    /// Keeps other processes from making a backup in the same place.
    lock: File,
    archive: Option<ArchiveWriter>,
    sums: Sums,
    pub(super) bytes: u64,
}

impl Writer {
    /// Begins a backup: an archive where its name ends so, else a folder.
    pub(super) fn begin(place: &Path, overwriting: Overwriting) -> Result<Self, BackupError> {
        let extension = place.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let extension = extension.as_deref().unwrap_or_default();
        if place.file_name().is_none() {
            return Err(BackupError::Exists { path: place.to_owned() });
        }
        if OTHER_ARCHIVES.contains(&extension) {
            return Err(BackupError::OtherArchive { path: place.to_owned() });
        }
        may_be_written(place, overwriting)?;
        let staging = beside(place);
        make_directory(&staging).map_err(BackupError::io("cannot create", &staging))?;
        let lock = File::open(&staging).map_err(BackupError::io("cannot open", &staging))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(BackupError::Busy { path: place.to_owned() }),
            Err(error) => return Err(BackupError::io("cannot lock", &staging)(error.into())),
        }
        // What is in it was left by one that died.
        empty(&staging).map_err(BackupError::io("cannot tidy", &staging))?;
        let mut writer = Self {
            place: place.to_owned(),
            overwriting,
            staging,
            lock,
            archive: None,
            sums: Sums::default(),
            bytes: 0,
        };
        if extension == ARCHIVE {
            let path = writer.staging.join(ARCHIVE);
            let file = create_new(&path).map_err(BackupError::io("cannot create", path))?;
            writer.archive = Some(ArchiveWriter::new(file, clock::now().0.unsigned_abs() / 1000));
        }
        reach("backup: begun");
        Ok(writer)
    }

    /// Tells whether it is an archive.
    pub(super) fn is_archive(&self) -> bool {
        self.archive.is_some()
    }

    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, contents: &[u8]) -> Result<(), BackupError> {
        match &mut self.archive {
            Some(archive) => archive
                .add(name, contents.len() as u64, contents)
                .map_err(BackupError::io("cannot write", &self.place))?,
            None => {
                let path = self.make_room(name)?;
                let written = create_new(&path).and_then(|mut file| file.write_all(contents));
                written.map_err(BackupError::io("cannot write", path))?;
            }
        }
        self.count(name, sum_of(contents), contents.len() as u64);
        Ok(())
    }

    /// Returns where the caller may make a file of this name, which is added next.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf, BackupError> {
        match &self.archive {
            Some(_) => Ok(self.staging.join("scratch")),
            None => self.make_room(name),
        }
    }

    /// Adds the file that the caller made.
    pub(super) fn add_scratch(&mut self, name: &str, path: &Path) -> Result<(), BackupError> {
        let open = || File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = open().map_err(BackupError::io("cannot read", path))?;
        let sum = sum_of_all(file).map_err(BackupError::io("cannot read", path))?;
        if let Some(archive) = &mut self.archive {
            let added = open().and_then(|(length, file)| archive.add(name, length, file));
            added.map_err(BackupError::io("cannot write", &self.place))?;
            fs::remove_file(path).map_err(BackupError::io("cannot remove", path))?;
        }
        self.count(name, sum, length);
        Ok(())
    }

    /// Ends the backup: from here on it is there, whole.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<u64, BackupError> {
        self.add(manifest::FILE, manifest.print().as_bytes())?;
        let sums = self.sums.print();
        self.add(sums::FILE, sums.as_bytes())?;
        let failed = |place: &Path| BackupError::io("cannot write", place.to_owned());
        let mut bytes = self.bytes;
        let ready = match self.archive.take() {
            Some(archive) => {
                archive.finish().map_err(failed(&self.place))?;
                let path = self.staging.join(ARCHIVE);
                bytes = fs::metadata(&path).map_err(failed(&self.place))?.len();
                path
            }
            None => {
                flush(&self.lock).map_err(BackupError::io("cannot flush", &self.staging))?;
                self.staging.clone()
            }
        };
        reach("backup: on the disk");
        self.put_in_place(&ready).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
                BackupError::Exists { path: self.place.clone() }
            }
            _ => failed(&self.place)(error),
        })?;
        reach("backup: in its place");
        let above = self.place.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flushed = File::open(above).and_then(|above| above.sync_all());
        flushed.map_err(BackupError::io("cannot flush", above))?;
        Ok(bytes)
    }

    fn put_in_place(&self, ready: &Path) -> io::Result<()> {
        let is_folder = ready == self.staging;
        match self.overwriting {
            // An empty folder gives way to a rename; one with something in it does not.
            _ if is_folder && !has_something(&self.place) => fs::rename(ready, &self.place),
            Overwriting::Refused if is_folder => Err(io::ErrorKind::AlreadyExists.into()),
            Overwriting::Refused => Ok(renameat_with(CWD, ready, CWD, &self.place, RenameFlags::NOREPLACE)?),
            // What was there goes with the place that this one was made in.
            Overwriting::Replacing if is_folder => {
                Ok(renameat_with(CWD, ready, CWD, &self.place, RenameFlags::EXCHANGE)?)
            }
            Overwriting::Replacing => fs::rename(ready, &self.place),
        }
    }

    fn count(&mut self, name: &str, sum: sums::Sum, length: u64) {
        self.sums.0.insert(name.to_owned(), sum);
        self.bytes += length;
    }

    /// Makes the folders that a file is in, and returns where it comes.
    fn make_room(&self, name: &str) -> Result<PathBuf, BackupError> {
        let path = self.staging.join(name);
        let folder = path.parent().unwrap_or(&self.staging);
        make_directory(folder).map_err(BackupError::io("cannot create", folder))?;
        Ok(path)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Where it became the backup itself it is no longer there.
        if let Err(error) = fs::remove_dir_all(&self.staging)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.staging.display(), %error, "what was begun of a backup stays");
        }
    }
}

/// Fails where something is in the place of a backup that must not be overwritten.
fn may_be_written(place: &Path, overwriting: Overwriting) -> Result<(), BackupError> {
    if !has_something(place) {
        return Ok(());
    }
    match overwriting {
        Overwriting::Refused => Err(BackupError::Exists { path: place.to_owned() }),
        // Nothing but a backup is ever overwritten by one, whole or not.
        Overwriting::Replacing => match BackupSource::open(place) {
            Err(error @ BackupError::NotABackup { .. }) => Err(error),
            _ => Ok(()),
        },
    }
}

/// Tells whether something is there, and more than an empty folder.
fn has_something(place: &Path) -> bool {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::read_dir(place).map_or(true, |mut entries| entries.next().is_some()),
        Ok(_) => true,
        Err(_) => false,
    }
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}{PARTIAL}"))
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Flushes everything in a folder: one call for all, where one for each of thousands of files would take a minute.
#[cfg(target_os = "linux")]
fn flush(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

/// Flushes a folder, as far as the system has a call for that.
#[cfg(not(target_os = "linux"))]
fn flush(folder: &File) -> io::Result<()> {
    folder.sync_all()
}
