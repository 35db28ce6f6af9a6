//! Reads a backup after verifying that it is intact, and writes its files to their destinations.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tar::{Archive, Builder, EntryType, Header};
use taskyard_core::dialect::macf::{hidden_task_of, is_hidden_twice};
use taskyard_core::{Image, ListId, Rules, TaskId};

use super::manifest::{Manifest, mode_of};
use super::{BackedUpList, BackupError, Dialect, manifest};
use crate::backup::manifest::{Sum, Sums, sum_of, sum_of_all};
use crate::failpoint::reach;
use crate::operations::TaskCopy;
use crate::private::create_new;
use crate::regular_file;
use crate::store::{DocumentOptions, DocumentPaths, TeachingOptions, TeachingPaths, open_documents, open_teaching};

/// Maximum size in bytes of a file that is read into memory.
const LONGEST: u64 = 256 * 1024 * 1024;

/// A verified backup, open for reading.
#[derive(Debug)]
pub struct BackupSource {
    path: PathBuf,
    /// The positions of the files in an archive; `None` for a folder.
    spans: Option<BTreeMap<String, Span>>,
    sums: Sums,
    manifest: Manifest,
}

impl BackupSource {
    /// Opens a backup and verifies that every file is present and matches its checksum.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let spans = if path.is_dir() { None } else { Some(spans_of(path)?) };
        let mut source = Self { path: path.to_owned(), spans, sums: Sums::default(), manifest: empty_manifest() };
        let has_ended = source.spans.as_ref().is_none_or(|spans| !spans.keys().any(|name| is_in_folder(name)));
        let missing = |error: BackupError| match error {
            BackupError::Io { source: error, .. } if error.kind() == io::ErrorKind::NotFound && !has_ended => {
                BackupError::Damaged { path: path.to_owned(), what: "it is truncated".to_owned() }
            }
            BackupError::Io { source: error, .. } if error.kind() == io::ErrorKind::NotFound => {
                BackupError::NotABackup { path: path.to_owned(), why: format!("it has no {}", manifest::MANIFEST_FILE) }
            }
            error => error,
        };
        let manifest = source.read(manifest::MANIFEST_FILE).map_err(missing)?;
        let sums = match source.read(manifest::SUMS_FILE) {
            Err(BackupError::Io { source: error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Err(source.damaged("it is truncated"));
            }
            sums => sums?,
        };
        let sums = std::str::from_utf8(&sums).ok().and_then(Sums::parse);
        source.sums = sums.ok_or_else(|| source.damaged(&format!("its {} cannot be read", manifest::SUMS_FILE)))?;
        if source.sums.0.get(manifest::MANIFEST_FILE) != Some(&sum_of(&manifest)) {
            return Err(source.damaged(&format!("`{}` does not match its checksum", manifest::MANIFEST_FILE)));
        }
        source.manifest = Manifest::parse(&manifest, path)?;
        source.check()?;
        Ok(source)
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns whether the backup contains a file with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.sums.0.contains_key(name)
    }

    /// Returns the names of the files in a folder of the backup, relative to the folder.
    pub(super) fn files_in<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let is_in = move |name: &'a String| name.strip_prefix(folder)?.strip_prefix('/');
        self.sums.0.keys().filter_map(is_in)
    }

    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, BackupError> {
        let (mut reader, length) = self.reader(name)?;
        if length > LONGEST {
            return Err(self.damaged(&format!("`{name}` is {length} bytes large")));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(BackupError::io("cannot read", self.path.join(name)))?;
        Ok(bytes)
    }

    /// Extracts a file to a new private file.
    pub(super) fn extract(&self, name: &str, to: &Path) -> Result<(), BackupError> {
        let (mut reader, _) = self.reader(name)?;
        let mut file = create_new(to).map_err(BackupError::io("cannot create", to))?;
        io::copy(&mut reader, &mut file).map_err(BackupError::io("cannot write", to))?;
        Ok(())
    }

    fn reader(&self, name: &str) -> Result<(Box<dyn Read>, u64), BackupError> {
        let failed =
            |error: io::Error| BackupError::Io { doing: "cannot read", path: self.path.join(name), source: error };
        let Some(spans) = &self.spans else {
            let (file, stat) = regular_file::open(&self.path.join(name), u64::MAX).map_err(|why| failed(why.into()))?;
            return Ok((Box::new(file), u64::try_from(stat.st_size).unwrap_or(u64::MAX)));
        };
        let span = spans.get(name).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut file = File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(span.start)).map_err(failed)?;
        Ok((Box::new(file.take(span.length)), span.length))
    }

    /// Verifies that every file is present and matches its checksum.
    fn check(&self) -> Result<(), BackupError> {
        for (name, sum) in &self.sums.0 {
            if !is_safe(name) {
                return Err(self.damaged(&format!("`{}` is not a valid file name", name.escape_debug())));
            }
            let found = match &self.spans {
                Some(spans) => spans.get(name).map(|span| span.sum),
                None => match self.reader(name) {
                    Ok((reader, _)) => {
                        Some(sum_of_all(reader).map_err(BackupError::io("cannot read", self.path.join(name)))?)
                    }
                    Err(BackupError::Io { source: error, .. }) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                },
            };
            match found {
                None => return Err(self.damaged(&format!("`{}` is missing", name.escape_debug()))),
                Some(found) if found != *sum => {
                    return Err(self.damaged(&format!("`{}` does not match its checksum", name.escape_debug())));
                }
                Some(_) => {}
            }
        }
        let journals = self.manifest.lists.iter().filter(|list| list.journal);
        if let Some(list) = journals.into_iter().find(|list| !self.has(&format!("{}/journal.sqlite", list.folder))) {
            return Err(self.damaged(&format!("the history of `{}` is missing", list.list)));
        }
        Ok(())
    }

    fn damaged(&self, what: &str) -> BackupError {
        BackupError::Damaged { path: self.path.clone(), what: what.to_owned() }
    }
}

fn spans_of(path: &Path) -> Result<BTreeMap<String, Span>, BackupError> {
    let has_begun = |path: &Path| {
        let mut first = [0; 262];
        // The magic bytes in the first header of a tar archive.
        File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && &first[257..] == b"ustar"
    };
    index(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => BackupError::io("cannot read", path)(source),
        _ if has_begun(path) => BackupError::Damaged { path: path.to_owned(), what: source.to_string() },
        _ => BackupError::NotABackup {
            path: path.to_owned(),
            why: "it is neither a folder nor a tar archive".to_owned(),
        },
    })
}

/// Returns whether a relative name stays within its folder.
fn is_safe(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

fn empty_manifest() -> Manifest {
    Manifest {
        format: manifest::FORMAT.to_owned(),
        taskyard: String::new(),
        at: String::new(),
        store: String::new(),
        dialect: Dialect::Native,
        teams_place: None,
        lists: Vec::new(),
        teams: Vec::new(),
    }
}

/// The top-level folder of an archive.
const FOLDER: &str = "taskyard-backup";

/// The position of a file in an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) sum: Sum,
}

/// An archive being written.
pub(super) struct ArchiveWriter {
    builder: Builder<BufWriter<File>>,
    at: u64,
}

impl ArchiveWriter {
    /// Starts an archive; `at` is the modification time of its files, in seconds.
    pub(super) fn new(file: File, at: u64) -> Self {
        Self { builder: Builder::new(BufWriter::with_capacity(1 << 18, file)), at }
    }

    pub(super) fn add(&mut self, name: &str, length: u64, contents: impl io::Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o600);
        header.set_mtime(self.at);
        header.set_entry_type(EntryType::Regular);
        self.builder.append_data(&mut header, format!("{FOLDER}/{name}"), contents)
    }

    /// Completes the archive and flushes it to disk.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut file = self.builder.into_inner()?;
        file.flush()?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Returns the positions and checksums of the files in an archive. Files outside the folder of the backup are ignored.
pub(super) fn index(path: &Path) -> io::Result<BTreeMap<String, Span>> {
    let mut archive = Archive::new(BufReader::with_capacity(1 << 18, File::open(path)?));
    let mut spans = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let Some(name) = entry.path()?.to_str().map(|name| name.trim_start_matches("./").to_owned()) else { continue };
        let (start, length) = (entry.raw_file_position(), entry.size());
        let mut counted = (&mut entry).take(u64::MAX);
        let sum = sum_of_all(&mut counted)?;
        if u64::MAX - counted.limit() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        spans.insert(name, Span { start, length, sum });
    }
    Ok(below_manifest(spans))
}

/// Strips the folder that contains the manifest from the names; a user who repacked the backup may have renamed it.
fn below_manifest(spans: BTreeMap<String, Span>) -> BTreeMap<String, Span> {
    let folder = |name: &String| {
        let name = name.strip_suffix(manifest::MANIFEST_FILE).or_else(|| name.strip_suffix(manifest::SUMS_FILE))?;
        (name.is_empty() || name.ends_with('/')).then(|| name.to_owned())
    };
    let Some(folder) = spans.keys().filter_map(folder).min_by_key(String::len) else { return spans };
    spans.into_iter().filter_map(|(name, span)| Some((name.strip_prefix(&folder)?.to_owned(), span))).collect()
}

/// Returns whether a name is inside the folder that our archives use.
pub(super) fn is_in_folder(name: &str) -> bool {
    name.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// The contents of a list in a backup.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Its tasks, in ascending order.
    pub(super) tasks: Vec<TaskCopy>,
    pub(super) others: Vec<String>,
}

/// Reads the tasks of a list from a backup. `scratch` is a private folder for temporary files, which are not removed.
pub(super) fn copies_of(
    source: &BackupSource,
    list: &BackedUpList,
    name: &ListId,
    scratch: &Path,
) -> Result<Copies, BackupError> {
    match source.manifest().dialect {
        Dialect::Native => native(source, list),
        dialect => translated(source, list, name, dialect, scratch),
    }
}

fn native(source: &BackupSource, list: &BackedUpList) -> Result<Copies, BackupError> {
    let folder = format!("{}/files", list.folder);
    let mut tasks: BTreeMap<TaskId, TaskCopy> = BTreeMap::new();
    let mut others = Vec::new();
    let mut names: Vec<&str> = source.files_in(&folder).collect();
    // The plain name takes precedence over a hidden one, and that over one hidden twice.
    names.sort_by_key(|name| (name.starts_with('.'), is_hidden_twice(name)));
    for name in names {
        let id = task_of(name).filter(|id| !tasks.contains_key(id));
        let copy = match id {
            Some(id) => {
                let image = Image::new(source.read(&format!("{folder}/{name}"))?);
                image.task(&id).ok().map(|task| (id, TaskCopy { task, image: Some(image) }))
            }
            None => None,
        };
        match copy {
            Some((id, copy)) => drop(tasks.insert(id, copy)),
            None => others.push(name.to_owned()),
        }
    }
    Ok(Copies { tasks: tasks.into_values().collect(), others })
}

/// Returns the task to which a file of the client belongs, visible or hidden.
pub(super) fn task_of(name: &str) -> Option<TaskId> {
    let plain = || name.strip_suffix(".json").filter(|stem| !stem.starts_with(['.', '#']) && !stem.contains('/'));
    // A document is named like a task but is not one.
    let plain = || plain().filter(|stem| !stem.is_empty() && *stem != "tasks").and_then(|stem| stem.parse().ok());
    hidden_task_of(name).or_else(plain)
}

/// Reads the tasks of a list in another dialect by opening a copy of it.
fn translated(
    source: &BackupSource,
    list: &BackedUpList,
    name: &ListId,
    dialect: Dialect,
    scratch: &Path,
) -> Result<Copies, BackupError> {
    let folder = scratch.join("list");
    let data = scratch.join("data");
    for directory in [&folder, &data] {
        let made = crate::private::make_directory(directory);
        made.map_err(BackupError::io("cannot create", directory))?;
    }
    let files_folder = format!("{}/files", list.folder);
    let files = Files { source, folder: &files_folder, modes: &list.modes };
    files.write_all(&folder)?;
    let rules = Rules::Strict;
    let store = match dialect {
        Dialect::Document => {
            let failed = BackupError::io("cannot list", &folder);
            let document = fs::read_dir(&folder).and_then(|mut entries| entries.next().transpose()).map_err(failed)?;
            let Some(document) = document else { return Ok(Copies::default()) };
            open_documents(DocumentOptions { paths: DocumentPaths::File(document.path()), data, rules })
        }
        _ => open_teaching(TeachingOptions { paths: TeachingPaths::Folder(folder), data, rules }),
    };
    let tasks = store.read(name)?.tasks()?;
    Ok(Copies { tasks: tasks.into_iter().map(|task| TaskCopy { task, image: None }).collect(), others: Vec::new() })
}

/// Prefix of temporary names for files being restored. Neither the client nor Taskyard takes them for lists, tasks or
/// teams.
const STAGING: &str = ".taskyard-restoring-";

/// A folder of files in a backup.
pub(super) struct Files<'a> {
    pub(super) source: &'a BackupSource,
    /// The folder in the backup.
    pub(super) folder: &'a str,
    /// Permission bits of files whose mode differs from the most common one, keyed by name.
    pub(super) modes: &'a BTreeMap<String, String>,
}

impl Files<'_> {
    /// Writes all files into a folder that is missing or empty, with a single rename. Returns false if the folder is
    /// not empty.
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

    /// Writes one file to a path where nothing exists. Returns false if something does.
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

    /// Writes all files into a folder.
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

/// Removes what a process that died left next to a directory.
pub(super) fn tidy(place: &Path) -> Result<(), BackupError> {
    let staging = staging_of(place);
    remove(&staging).map_err(BackupError::io("cannot remove", staging))
}

/// Returns whether something other than an empty folder exists.
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

/// Removes what a process that died left behind.
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
