//! Writes a backup to a temporary place next to its destination, and renames it when it is complete.

use std::fs::{File, Metadata};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use taskyard_core::ListId;

use super::manifest::modes_in_words;
use super::{BackedUpList, BackedUpTeam, BackupError, BackupSource, Dialect, Manifest, manifest};
use crate::backup::backup_contents::ArchiveWriter;
use crate::backup::manifest::{Sums, sum_of, sum_of_all};
use crate::failpoint::reach;
use crate::machine::copy_machine;
use crate::opening::{Address, Places};
use crate::private::{create_new, make_directory};
use crate::process::Cancel;
use crate::sqlite::DatabaseError;
use crate::store::{ArrivingList, FileCare, ListCopy, ListCopyTarget, SharedCare, Store, StoreError, is_lock};
use crate::teams::copy_team_memory;
use crate::{Error, system};

/// What to back up, and where to.
#[derive(Debug)]
pub struct BackUp<'a> {
    /// The lists to back up.
    pub store: &'a dyn Store,
    /// The address of the store.
    pub address: &'a Address,
    /// Paths on this machine.
    pub places: &'a Places,
    /// The destination: an archive if the name ends in `.tar`, otherwise a folder.
    pub place: &'a Path,
    /// What to do if a backup already exists there.
    pub overwriting: Overwriting,
    /// Cancels the backup; nothing of it remains.
    pub cancel: &'a Cancel,
}

/// A completed backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// The manifest of its contents.
    pub manifest: Manifest,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is an archive.
    pub is_archive: bool,
}

/// Makes a backup, completely or not at all. Each list is copied as of one point in time, even while other processes
/// are writing. `progress` is called with the number of lists copied and the total.
pub fn back_up(what: &BackUp<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<BackedUp, BackupError> {
    let (dialect, keeper) = Keeper::of(what.store, what.address)?;
    must_be_elsewhere(what)?;
    let mut writer = Writer::begin(what.place, what.overwriting)?;
    let is_archive = writer.is_archive();
    let at = system::now();
    let lists = keeper.lists(what.store)?;
    let mut copied = Vec::with_capacity(lists.len());
    for (place, list) in lists.iter().enumerate() {
        progress(place, lists.len());
        copied.push(copy_list((keeper, what.address), list, &mut writer, what.cancel)?);
        reach("backup: a list is copied");
    }
    progress(lists.len(), lists.len());
    // Copy our records before the files: a message that arrives in between is delivered twice rather than lost.
    let data = what.places.data.as_deref();
    // This machine's records belong to its files, not to a database.
    if let Some(data) = data.filter(|_| matches!(keeper, Keeper::Files(_))) {
        add_memory(data, &mut writer)?;
    }
    let teams_place = what.address.teams_directory(what.places);
    let teams = match &teams_place {
        Some(root) => copy_teams(root, &mut writer)?,
        None => Vec::new(),
    };
    reach("backup: teams are copied");
    let teams_place = teams_place.map(|root| std::fs::canonicalize(&root).unwrap_or(root));
    let teams_place = teams_place.map(|root| root.display().to_string());
    let manifest = Manifest { teams_place, teams, ..Manifest::of_lists(what.address, dialect, at, copied) };
    let bytes = writer.finish(&manifest)?;
    Ok(BackedUp { manifest, bytes, is_archive })
}

/// Fails if the destination is inside a directory that is being backed up, where it would be mistaken for a list or a
/// team.
fn must_be_elsewhere(what: &BackUp<'_>) -> Result<(), BackupError> {
    let (address, places) = (what.address, what.places);
    let folders = [places.data.clone(), address.tasks_directory(places), address.teams_directory(places)];
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let place = what.place.parent().map(real).unwrap_or_default();
    match folders.into_iter().flatten().find(|folder| place.starts_with(real(folder))) {
        Some(within) => Err(BackupError::Within { path: what.place.to_owned(), within }),
        None => Ok(()),
    }
}

/// Copies a list into its folder in the backup.
pub(super) fn copy_list(
    (keeper, address): (Keeper<'_>, &Address),
    list: &ListId,
    writer: &mut Writer,
    cancel: &Cancel,
) -> Result<BackedUpList, BackupError> {
    let folder = format!("lists/{}", list.directory());
    let mut target = IntoFolder { writer, cancel, folder: &folder, files: 0, has_journal: false, failed: None };
    let copied = keeper.copy_out(list, &mut target);
    let IntoFolder { files, has_journal, failed, .. } = target;
    if let Some(failed) = failed {
        return Err(failed);
    }
    // A list that cannot be read is reported, and does not keep the others from being backed up.
    let copy = copied.unwrap_or_else(|error| ListCopy {
        exists: true,
        has_journal,
        journal_problem: Some(error.to_string()),
        ..ListCopy::default()
    });
    Ok(BackedUpList {
        list: list.as_str().to_owned(),
        path: keeper.place_of(list, address),
        revision: copy.revision.0,
        exists: copy.exists,
        journal: copy.has_journal,
        files,
        journal_problem: copy.journal_problem,
        modes: modes_in_words(copy.modes),
        left_out: copy.left_out.into_iter().collect(),
        folder,
    })
}

/// Copies this machine's records other than those of its lists: those of teams, and the machine's own.
fn add_memory(data: &Path, writer: &mut Writer) -> Result<(), BackupError> {
    for (name, copy) in [("teams.sqlite", copy_team_memory as CopyMemory), ("machine.sqlite", copy_machine)] {
        let scratch = writer.scratch(name)?;
        if copy(data, &scratch)? {
            writer.add_scratch(name, &scratch)?;
        }
    }
    Ok(())
}

/// Copies a database of a data directory to a new file; returns whether there is one.
type CopyMemory = fn(&Path, &Path) -> Result<bool, DatabaseError>;

/// Receives a list and writes it to its folder in the backup.
struct IntoFolder<'a> {
    writer: &'a mut Writer,
    cancel: &'a Cancel,
    folder: &'a str,
    files: usize,
    has_journal: bool,
    /// An error of the backup itself; the store only learns that the copy failed.
    failed: Option<BackupError>,
}

impl IntoFolder<'_> {
    fn must_go_on(&mut self) -> Result<(), StoreError> {
        if self.cancel.is_cancelled() { Err(self.stopped(Error::Cancelled.into())) } else { Ok(()) }
    }

    fn stopped(&mut self, error: BackupError) -> StoreError {
        let path = PathBuf::from(self.folder);
        self.failed = Some(error);
        StoreError::io("cannot back up", path)(std::io::ErrorKind::Other.into())
    }
}

impl ListCopyTarget for IntoFolder<'_> {
    fn take_journal(&mut self, fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.must_go_on()?;
        let name = format!("{}/journal.sqlite", self.folder);
        let scratch = self.writer.scratch(&name).map_err(|error| self.stopped(error))?;
        fill(&scratch)?;
        self.writer.add_scratch(&name, &scratch).map_err(|error| self.stopped(error))?;
        self.has_journal = true;
        Ok(())
    }

    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        self.must_go_on()?;
        let full_name = format!("{}/files/{name}", self.folder);
        self.writer.add(&full_name, contents).map_err(|error| self.stopped(error))?;
        self.files += 1;
        if self.files == 1 {
            reach("backup: a file is copied");
        }
        Ok(())
    }
}

/// Suffix of the temporary place in which a backup is prepared.
const PARTIAL: &str = ".taskyard-partial";
/// Extension of an archive.
const ARCHIVE: &str = "tar";
/// Extensions of other archive formats, which are rejected.
const OTHER_ARCHIVES: [&str; 9] = ["gz", "tgz", "zip", "zst", "xz", "bz2", "7z", "sqlite", "db"];

/// What to do if a backup already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwriting {
    /// Fail and keep the existing backup.
    Refused,
    /// Replace it once the new one is complete.
    Replacing,
}

/// A backup being written. Dropping it unfinished removes everything written.
pub(super) struct Writer {
    place: PathBuf,
    overwriting: Overwriting,
    staging: PathBuf,
    /// Keeps other processes from making a backup at the same destination.
    lock: File,
    archive: Option<ArchiveWriter>,
    sums: Sums,
    pub(super) bytes: u64,
}

impl Writer {
    /// Starts a backup: an archive if the name has that extension, otherwise a folder.
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
        // Existing contents were left by a process that died.
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
            writer.archive = Some(ArchiveWriter::new(file, system::now().0.unsigned_abs() / 1000));
        }
        reach("backup: begun");
        Ok(writer)
    }

    pub(super) fn is_archive(&self) -> bool {
        self.archive.is_some()
    }

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

    /// Returns the path at which the caller may create a file with this name, to be added next.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf, BackupError> {
        match &self.archive {
            Some(_) => Ok(self.staging.join("scratch")),
            None => self.make_room(name),
        }
    }

    /// Adds the file that the caller created.
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

    /// Completes the backup and makes it visible under its name.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<u64, BackupError> {
        self.add(manifest::MANIFEST_FILE, manifest.print().as_bytes())?;
        let sums = self.sums.print();
        self.add(manifest::SUMS_FILE, sums.as_bytes())?;
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
            // A rename replaces an empty folder, but fails for a non-empty one.
            _ if is_folder && !has_something(&self.place) => fs::rename(ready, &self.place),
            Overwriting::Refused if is_folder => Err(io::ErrorKind::AlreadyExists.into()),
            Overwriting::Refused => Ok(renameat_with(CWD, ready, CWD, &self.place, RenameFlags::NOREPLACE)?),
            // The old backup ends up in the temporary place and is removed with it.
            Overwriting::Replacing if is_folder => {
                Ok(renameat_with(CWD, ready, CWD, &self.place, RenameFlags::EXCHANGE)?)
            }
            Overwriting::Replacing => fs::rename(ready, &self.place),
        }
    }

    fn count(&mut self, name: &str, sum: manifest::Sum, length: u64) {
        self.sums.0.insert(name.to_owned(), sum);
        self.bytes += length;
    }

    /// Creates the parent folders of a file, and returns its path.
    fn make_room(&self, name: &str) -> Result<PathBuf, BackupError> {
        let path = self.staging.join(name);
        let folder = path.parent().unwrap_or(&self.staging);
        make_directory(folder).map_err(BackupError::io("cannot create", folder))?;
        Ok(path)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // If it was renamed to the destination, it no longer exists.
        if let Err(error) = fs::remove_dir_all(&self.staging)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.staging.display(), %error, "what was begun of a backup stays");
        }
    }
}

/// Fails if something exists at the destination that must not be overwritten.
fn may_be_written(place: &Path, overwriting: Overwriting) -> Result<(), BackupError> {
    if !has_something(place) {
        return Ok(());
    }
    match overwriting {
        Overwriting::Refused => Err(BackupError::Exists { path: place.to_owned() }),
        // Only a backup, intact or not, may be overwritten by a backup.
        Overwriting::Replacing => match BackupSource::open(place) {
            Err(error @ BackupError::NotABackup { .. }) => Err(error),
            _ => Ok(()),
        },
    }
}

/// Returns whether something other than an empty folder exists.
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

/// Flushes everything in a folder with one call; flushing thousands of files one by one would take a minute.
#[cfg(target_os = "linux")]
fn flush(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

/// Flushes a folder, as far as the operating system supports this.
#[cfg(not(target_os = "linux"))]
fn flush(folder: &File) -> io::Result<()> {
    folder.sync_all()
}

/// The maintenance interface of a store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keeper<'a> {
    /// Lists in files, with our records of them.
    Files(&'a dyn FileCare),
    /// Lists in a database.
    Shared(&'a dyn SharedCare),
}

impl<'a> Keeper<'a> {
    /// Returns the maintenance interface of a store and the dialect of its lists.
    pub(super) fn of(store: &'a dyn Store, address: &Address) -> Result<(Dialect, Self), BackupError> {
        let files = store.care().map(Keeper::Files);
        let keeper = files.or_else(|| store.shared_care().map(Keeper::Shared));
        Dialect::of(address).zip(keeper).ok_or(BackupError::NoFiles)
    }

    /// Returns the names of all lists, including those of which only our records remain, but not lists that have moved
    /// to another store.
    pub(super) fn lists(self, store: &dyn Store) -> Result<Vec<ListId>, StoreError> {
        let mut lists = match self {
            Self::Files(care) => {
                let mut lists = care.lists_with_a_place()?;
                lists.extend(care.lists_without_a_place()?.into_iter().map(|(list, _)| list));
                lists
            }
            Self::Shared(_) => store.list_names()?.into_iter().collect(),
        };
        let mut gone = Vec::new();
        if let Some(moving) = store.moving() {
            for list in &lists {
                gone.push(moving.departure(list)?.is_some_and(|departure| departure.has_left));
            }
        }
        let mut gone = gone.into_iter();
        lists.retain(|_| !gone.next().unwrap_or(false));
        lists.sort();
        lists.dedup();
        Ok(lists)
    }

    /// Copies a list as of one point in time.
    pub(super) fn copy_out(self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        match self {
            Self::Files(care) => care.copy_out(list, to),
            Self::Shared(shared) => shared.copy_out(list, to),
        }
    }

    /// Imports the history of a list, and in a database also its tasks. Returns false if a list of that name exists.
    pub(super) fn take_in(self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
        match self {
            Self::Files(care) => care.take_memory(list, arriving),
            Self::Shared(shared) => shared.take_in(list, arriving),
        }
    }

    /// Returns the location of a list as text.
    pub(super) fn place_of(self, list: &ListId, address: &Address) -> String {
        match self {
            Self::Files(care) => care.place_of(list).display().to_string(),
            Self::Shared(_) => PathBuf::from(address.to_string()).join(list.directory()).display().to_string(),
        }
    }
}

/// Prefix of our temporary files.
const TEMPORARY: &str = ".taskyard-";

/// Copies all teams in a directory.
pub(super) fn copy_teams(root: &Path, writer: &mut Writer) -> Result<Vec<BackedUpTeam>, BackupError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BackupError::io("cannot list", root)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(BackupError::io("cannot list", root))?;
        let is_team = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // Locks in this directory are directories too.
        names.extend(entry.file_name().into_string().ok().filter(|name| is_team && !name.ends_with(".lock")));
    }
    names.retain(|name| !name.starts_with(TEMPORARY));
    names.sort();
    names.iter().map(|name| copy_team(&root.join(name), name, writer)).collect()
}

fn copy_team(path: &Path, name: &str, writer: &mut Writer) -> Result<BackedUpTeam, BackupError> {
    let mut target = IntoTeam { writer, folder: format!("teams/{name}"), files: 0, failed: None };
    let mut copy = ListCopy::default();
    let is_passed_over = |name: &str, found: &Metadata| {
        is_lock(name, found) || name.rsplit('/').next().is_some_and(|name| name.starts_with(TEMPORARY))
    };
    let copied = copy.add_folder(&mut target, path, &is_passed_over);
    if let Some(failed) = target.failed {
        return Err(failed);
    }
    copied?;
    Ok(BackedUpTeam {
        team: name.to_owned(),
        files: target.files,
        modes: modes_in_words(copy.modes),
        left_out: copy.left_out.into_iter().collect(),
    })
}

/// Receives a team and writes it to its folder in the backup.
struct IntoTeam<'a> {
    writer: &'a mut Writer,
    folder: String,
    files: usize,
    failed: Option<BackupError>,
}

impl ListCopyTarget for IntoTeam<'_> {
    fn take_journal(&mut self, _fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError> {
        Ok(())
    }

    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        let added = self.writer.add(&format!("{}/{name}", self.folder), contents);
        self.files += 1;
        added.map_err(|error| {
            self.failed = Some(error);
            StoreError::io("cannot back up", &self.folder)(io::ErrorKind::Other.into())
        })
    }
}
