//! The file of a document: locked, read and replaced.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use taskyard_core::dialect::document::{BadDocument, Document, VERSION};
use taskyard_core::dialect::native::Unreadable;

use super::changing::Raw;
use crate::store::StoreError;
use crate::store::file::failpoint::reach;
use crate::store::sidecar::Fingerprint;
use crate::store::translated::{chance, clear_away, lock_in_time};

/// Other programs write in place, with the file locked: what may be half written is read again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Locks the file, and looks that it is still the one of that name: whoever replaced it meanwhile left us the lock of a file that
/// is nobody's any more. Where there is no file there is nothing to lock.
pub(super) fn hold(path: &Path, patience: Duration) -> Result<Option<Option<File>>, StoreError> {
    let started = Instant::now();
    loop {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
                return Ok(Some(None));
            }
            // Also where a link leads nowhere: nothing could be put in its place without taking the link away.
            Err(error) => return Err(StoreError::io("cannot open", path)(error)),
        };
        let left = patience.saturating_sub(started.elapsed());
        let locked = lock_in_time(file, left).map_err(StoreError::io("cannot lock", path))?;
        let Some(file) = locked else { return Ok(None) };
        let held = file.metadata().map_err(StoreError::io("cannot look at", path))?;
        if stamp_of(path).is_some_and(|now| now.inode == held.ino()) {
            return Ok(Some(Some(file)));
        }
    }
}

/// Reads the file; none where there is none.
pub(super) fn load(path: &Path) -> Result<Option<Raw>, StoreError> {
    let started = Instant::now();
    loop {
        let (bytes, stamp) = match read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(None),
            Err(error) => return Err(StoreError::io("cannot read", path)(error)),
        };
        let why = match Document::parse(&bytes) {
            Ok(document) => return Ok(Some(Raw::new(document, Some(stamp)))),
            Err(BadDocument::Unreadable(why)) if why.may_be_torn() && started.elapsed() < LOOKING_AGAIN => {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err(why) => why,
        };
        return Err(StoreError::NoTask { path: path.to_owned(), why: unreadable(why) });
    }
}

/// Returns what the file looks like now.
pub(super) fn stamp_of(path: &Path) -> Option<Fingerprint> {
    fs::metadata(path).ok().map(|found| Fingerprint::of(&found))
}

/// Puts a document in the place of the one that was read.
pub(super) fn save(path: &Path, before: Option<&Raw>, document: &Document) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let failed = |doing, path: &Path, error| Err(StoreError::io(doing, path)(error));
    if before.is_none() {
        fs::create_dir_all(directory).map_err(StoreError::io("cannot create", directory))?;
    }
    if before.is_some_and(|before| before.document.version() < VERSION) {
        keep_old(path)?;
    }
    clear_away(directory, &temporary_prefix(path));
    let temporary = directory.join(format!("{}{}-{:x}", temporary_prefix(path), std::process::id(), chance()));
    if let Err(error) = write(&temporary, path, document.print().as_bytes()) {
        let _ = fs::remove_file(&temporary);
        return failed("cannot write", &temporary, error);
    }
    reach("translated: temporary file written");
    let replaced = match before {
        Some(_) => fs::rename(&temporary, path),
        // Whoever made one meanwhile keeps it.
        None => fs::hard_link(&temporary, path).and_then(|()| fs::remove_file(&temporary)),
    };
    if let Err(error) = replaced {
        let _ = fs::remove_file(&temporary);
        return failed("cannot replace", path, error);
    }
    reach("translated: a file in its place");
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(StoreError::io("cannot flush", directory))
}

/// Keeps the file of an old version beside the one that takes its place.
fn keep_old(path: &Path) -> Result<(), StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".v1");
    let backup = PathBuf::from(name);
    if backup.exists() {
        return Ok(());
    }
    fs::copy(path, &backup).map(drop).map_err(StoreError::io("cannot keep the old version as", &backup))
}

/// Returns what the names of our temporary files begin with.
pub(super) fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-taskyard-")
}

fn write(temporary: &Path, like: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(temporary)?;
    if let Ok(found) = fs::metadata(like) {
        file.set_permissions(found.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_data()
}

fn read(path: &Path) -> io::Result<Option<(Vec<u8>, Fingerprint)>> {
    // A pipe of that name must not make us wait for its writer.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut file = match File::options().read(true).custom_flags(nonblocking).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Before the contents: what is written while we read makes it another file.
    let found = file.metadata()?;
    if !found.is_file() && !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let stamp = Fingerprint::of(&found);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some((bytes, stamp)))
}

fn unreadable(why: BadDocument) -> Unreadable {
    match why {
        BadDocument::Unreadable(why) => why,
        BadDocument::NoTasks => Unreadable::Missing { key: "tasks" },
        BadDocument::TooNew { .. } => {
            Unreadable::WrongType { key: "version", expected: "one that is known", found: "a newer one" }
        }
    }
}
