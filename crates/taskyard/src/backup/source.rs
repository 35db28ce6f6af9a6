//! Reading a backup: only one that is whole is opened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::archive::{self, Span};
use super::manifest::{self, Manifest};
use super::sums::{self, Sums, sum_of, sum_of_all};
use super::{BackupError, Dialect};
use crate::private::create_new;
use crate::regular_file;

/// A manifest or a list of sums is no longer than this.
const LONGEST: u64 = 256 * 1024 * 1024;

/// A backup, open to be read.
#[derive(Debug)]
pub struct BackupSource {
    path: PathBuf,
    /// Where everything stands, in an archive.
    spans: Option<BTreeMap<String, Span>>,
    sums: Sums,
    manifest: Manifest,
}

impl BackupSource {
    /// Opens a backup, and makes sure that everything that was written into it is there and as it was.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let spans = if path.is_dir() { None } else { Some(spans_of(path)?) };
        let mut source = Self { path: path.to_owned(), spans, sums: Sums::default(), manifest: empty_manifest() };
        let has_ended = source.spans.as_ref().is_none_or(|spans| !spans.keys().any(|name| archive::is_in_folder(name)));
        let missing = |error: BackupError| match error {
            BackupError::Io { source: error, .. } if error.kind() == io::ErrorKind::NotFound && !has_ended => {
                BackupError::Damaged { path: path.to_owned(), what: "it ends before its end".to_owned() }
            }
            BackupError::Io { source: error, .. } if error.kind() == io::ErrorKind::NotFound => {
                BackupError::NotABackup { path: path.to_owned(), why: format!("it has no {}", manifest::FILE) }
            }
            error => error,
        };
        let manifest = source.read(manifest::FILE).map_err(missing)?;
        let sums = match source.read(sums::FILE) {
            Err(BackupError::Io { source: error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Err(source.damaged("it ends before its end"));
            }
            sums => sums?,
        };
        let sums = std::str::from_utf8(&sums).ok().and_then(Sums::parse);
        source.sums = sums.ok_or_else(|| source.damaged(&format!("its {} cannot be read", sums::FILE)))?;
        if source.sums.0.get(manifest::FILE) != Some(&sum_of(&manifest)) {
            return Err(source.damaged(&format!("`{}` is not what was written", manifest::FILE)));
        }
        source.manifest = Manifest::parse(&manifest, path)?;
        source.check()?;
        Ok(source)
    }

    /// Returns what the backup says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Tells whether there is a file of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.sums.0.contains_key(name)
    }

    /// Returns the names of the files in a folder of the backup, as they are within it.
    pub(super) fn files_in<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let is_in = move |name: &'a String| name.strip_prefix(folder)?.strip_prefix('/');
        self.sums.0.keys().filter_map(is_in)
    }

    /// Reads a file.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, BackupError> {
        let (mut reader, length) = self.reader(name)?;
        if length > LONGEST {
            return Err(self.damaged(&format!("`{name}` is {length} bytes large")));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(BackupError::io("cannot read", self.path.join(name)))?;
        Ok(bytes)
    }

    /// Writes a file down as a new private one.
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

    /// Makes sure that every file is there and as it was written.
    fn check(&self) -> Result<(), BackupError> {
        for (name, sum) in &self.sums.0 {
            if !is_safe(name) {
                return Err(self.damaged(&format!("`{}` is no name of a file in it", name.escape_debug())));
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
                    return Err(self.damaged(&format!("`{}` is not what was written", name.escape_debug())));
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
        // What a tar has at the beginning of its first header.
        File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && &first[257..] == b"ustar"
    };
    archive::index(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => BackupError::io("cannot read", path)(source),
        _ if has_begun(path) => BackupError::Damaged { path: path.to_owned(), what: source.to_string() },
        _ => BackupError::NotABackup {
            path: path.to_owned(),
            why: "it is neither a folder nor a tar archive".to_owned(),
        },
    })
}

/// Tells whether a name stays within the folder it is in.
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
