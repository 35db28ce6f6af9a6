//! The file of a document, opened and read without its lock.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use taskyard_core::dialect::document::{BadDocument, Document};
use taskyard_core::dialect::native::Unreadable;

use super::changing::Raw;
use super::rewrite::{Progress, Rewrite};
use crate::clock;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::dialects::Loaded;
use crate::store::journal::FileStamp;

/// A document larger than this is not read.
pub(super) const LARGEST: u64 = 256 * 1024 * 1024;
/// Other programs write in place, with the file locked: what may be half written is read again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Reads the file; none where there is none.
pub(super) fn load(path: &Path) -> Result<Option<Raw>, StoreError> {
    let started = Instant::now();
    loop {
        let Some(Read { bytes, stamp, .. }) = read(path)? else { return Ok(None) };
        match whole(path, bytes, Some(stamp))? {
            Loaded::Torn(_) if started.elapsed() < LOOKING_AGAIN => thread::sleep(Duration::from_millis(5)),
            Loaded::Torn(error) => return Err(*error),
            Loaded::Whole(raw) | Loaded::Completed(raw) => return Ok(Some(raw)),
            Loaded::Absent | Loaded::Moving => return Ok(None),
        }
    }
}

/// Reads the file while a writer of ours may be at it: with `rewrite`, or with one that began since where `is_quiet` denies it.
pub(super) fn look(
    path: &Path,
    rewrite: Option<&Rewrite>,
    is_quiet: &dyn Fn() -> Result<bool, StoreError>,
) -> Result<Loaded<Raw>, StoreError> {
    let began = clock::wall();
    let Some(Read { bytes, stamp, is_unmoved }) = read(path)? else { return Ok(Loaded::Absent) };
    // No program wrote while we read: it would have left a later time.
    let is_settled = is_unmoved && stamp.is_settled(began);
    let Some(rewrite) = rewrite else {
        return match is_settled || (is_unmoved && is_quiet()?) {
            true => whole(path, bytes, Some(stamp)),
            false => Ok(Loaded::Moving),
        };
    };
    if is_settled && rewrite.judge(&bytes, &clock::boot_id()) == Progress::Overwritten {
        return whole(path, bytes, Some(stamp));
    }
    match rewrite.completed(&bytes) {
        Some(bytes) => Ok(match whole(path, bytes, None)? {
            Loaded::Whole(raw) => Loaded::Completed(raw),
            torn => torn,
        }),
        None => Ok(Loaded::Moving),
    }
}

/// Returns what the file looks like now.
pub(super) fn stamp_of(path: &Path) -> Option<FileStamp> {
    fs::symlink_metadata(path).ok().map(|found| FileStamp::of(&found))
}

/// Returns what the names of our temporary files begin with.
pub(super) fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-taskyard-")
}

/// What was read of a file.
struct Read {
    bytes: Vec<u8>,
    stamp: FileStamp,
    /// Whether it looked the same afterwards.
    is_unmoved: bool,
}

fn read(path: &Path) -> Result<Option<Read>, StoreError> {
    let read = || -> Result<Read, NotRead> {
        let (file, _) = regular_file::open(path, LARGEST)?;
        // Before the contents: what is written while we read makes it another file.
        let found = file.metadata()?;
        let stamp = FileStamp::of(&found);
        let bytes = regular_file::read_open(file.try_clone()?, found.len(), LARGEST)?;
        Ok(Read { bytes, stamp, is_unmoved: FileStamp::of(&file.metadata()?) == stamp })
    };
    match read() {
        Ok(read) => Ok(Some(read)),
        Err(why) if why.is_missing() => Ok(None),
        Err(why) => Err(StoreError::not_read(path, why)),
    }
}

fn whole(path: &Path, bytes: Vec<u8>, stamp: Option<FileStamp>) -> Result<Loaded<Raw>, StoreError> {
    let no_task = |why| StoreError::NoTask { path: path.to_owned(), why };
    match Document::parse(&bytes) {
        Ok(document) => Ok(Loaded::Whole(Raw::new(document, bytes, stamp))),
        Err(BadDocument::Unreadable(why)) if why.may_be_torn() => Ok(Loaded::Torn(Box::new(no_task(why)))),
        Err(BadDocument::Unreadable(why)) => Err(no_task(why)),
        Err(BadDocument::NoTasks) => Err(no_task(Unreadable::Missing { key: "tasks" })),
        Err(BadDocument::TooNew(source)) => Err(StoreError::NewerFile { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use std::{fs, thread};

    use super::{look, stamp_of};
    use crate::clock;
    use crate::store::dialects::Loaded;
    use crate::store::document::rewrite::Rewrite;

    fn document(tasks: [&str; 2]) -> String {
        let [one, two] = tasks.map(|task| format!("{{\"id\":\"{task}\"}}"));
        format!("{{\"tasks\":[{one},{two}],\"version\":2}}")
    }

    fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = folder.path().join("tasks.json");
        fs::write(&path, text).unwrap();
        path
    }

    fn let_it_settle(path: &Path) {
        while !stamp_of(path).unwrap().is_settled(clock::wall()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_file_just_written_is_believed_only_where_no_commit_was_begun_since() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, &document(["1", "2"]));
        assert!(matches!(look(&path, None, &|| Ok(false)).unwrap(), Loaded::Moving));
        assert!(matches!(look(&path, None, &|| Ok(true)).unwrap(), Loaded::Whole(_)));
        let_it_settle(&path);
        assert!(matches!(look(&path, None, &|| panic!("nobody has written")).unwrap(), Loaded::Whole(_)));
    }

    #[test]
    fn a_mixture_of_old_and_new_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (document(["1", "3"]), document(["2", "4"]));
        let rewrite = Rewrite::between(before.as_bytes(), after.as_bytes(), crate::clock::boot_id());
        for found in [&before, &after, &document(["2", "3"]), &document(["1", "4"]), &format!("{after}\0")] {
            let path = file(&folder, found);
            let Loaded::Completed(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{found}") };
            assert_eq!(raw.bytes, after.as_bytes(), "{found}");
        }
    }

    #[test]
    fn what_another_program_wrote_after_a_crash_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let rewrite = Rewrite::between(document(["1", "3"]).as_bytes(), document(["2", "4"]).as_bytes(), String::new());
        let theirs = document(["1", "theirs"]);
        let path = file(&folder, &theirs);
        let_it_settle(&path);
        let Loaded::Whole(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{theirs}") };
        assert_eq!(raw.bytes, theirs.as_bytes());
    }
}
