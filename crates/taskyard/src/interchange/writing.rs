//! Saving what an export wrote: whole or not at all. Only a document that is there is written in place, as its programs do, and a
//! command killed in the middle of that leaves it torn; to export again mends it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::InterchangeError;
use crate::replacement::create_replacement;
use crate::store::{StoreError, replace_document};

/// What an export wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The contents of one file.
    File(String),
    /// A document of tasks, whose programs lock the file and go on with the one they locked.
    Document(String),
    /// The contents of each file of a folder, by name.
    Folder(BTreeMap<String, Vec<u8>>),
}

/// Saves it. A file takes the place of one that is there, and a document is written into it under its lock; a folder must be new or
/// empty.
pub fn save(written: &Written, path: &Path) -> Result<(), InterchangeError> {
    let failed = |source| InterchangeError::Io { doing: "write", path: path.to_owned(), source };
    match written {
        Written::File(_) | Written::Document(_) if path.is_dir() => {
            Err(InterchangeError::NotAFile { path: path.to_owned(), format: "this" })
        }
        Written::File(text) => {
            let temporary = beside(path);
            let saved = write_file(&temporary, path, text.as_bytes()).and_then(|()| fs::rename(&temporary, path));
            saved.map_err(|error| {
                // What was half written is of no use; that it cannot be removed either is the smaller trouble.
                let _ = fs::remove_file(&temporary);
                failed(error)
            })
        }
        Written::Document(text) => replace_document(path, text).map_err(|error| match error {
            StoreError::Io { source, .. } => failed(source),
            other => failed(io::Error::other(other)),
        }),
        Written::Folder(files) => {
            if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(InterchangeError::NotEmpty { path: path.to_owned() });
            }
            let temporary = beside(path);
            // An empty folder gives way to a rename; one with something in it, written meanwhile, does not.
            write_folder(&temporary, files).and_then(|()| fs::rename(&temporary, path)).map_err(|error| {
                let _ = fs::remove_dir_all(&temporary);
                failed(error)
            })
        }
    }
}

fn write_folder(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(path)?;
    files.iter().try_for_each(|(name, bytes)| {
        let path = path.join(name);
        write_file(&path, &path, bytes)
    })
}

/// Writes a file that takes the place of another, whose mode it has.
fn write_file(path: &Path, place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_replacement(path, place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::{Written, save};
    use crate::interchange::InterchangeError;

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let written = Written::Folder(BTreeMap::from([("1.json".to_owned(), b"{}".to_vec())]));
        save(&written, &path).unwrap();
        assert_eq!(fs::read(path.join("1.json")).unwrap(), b"{}");
        assert!(matches!(save(&written, &path), Err(InterchangeError::NotEmpty { .. })));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_takes_the_place_of_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tasks.csv");
        for text in ["one", "two"] {
            save(&Written::File(text.to_owned()), &path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
