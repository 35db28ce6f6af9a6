//! Texts of edits that the user did not go on with.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use std::{fs, io};

use rustix::fs::{FlockOperation, flock};
use taskyard::core::Timestamp;
use taskyard::private::open_existing;

/// A file of an edit that no user has touched for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldText {
    /// The file.
    pub(crate) path: PathBuf,
    /// How many bytes it has.
    pub(crate) bytes: u64,
}

impl OldText {
    /// Removes the file.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Returns the files of edits in a data directory that no editor has touched since a moment or has open now, by name.
pub(crate) fn old_texts(data: &Path, since: Timestamp) -> Vec<OldText> {
    let before = UNIX_EPOCH + Duration::from_millis(since.0.try_into().unwrap_or(0));
    let is_old = |path: &Path| {
        let found = fs::symlink_metadata(path).ok()?;
        (found.is_file() && found.modified().is_ok_and(|written| written < before)).then_some(found.len())
    };
    let mut old = Vec::new();
    for entry in fs::read_dir(data.join("edits")).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Some(bytes) = is_old(&path)
            && of_one_edit(&path).iter().all(|other| !other.exists() || is_old(other).is_some())
            && !is_somebody_at(&path)
        {
            old.push(OldText { path, bytes });
        }
    }
    old.sort_by(|one, other| one.path.cmp(&other.path));
    old
}

/// Returns the text of an edit and what it began as, by one of its files.
fn of_one_edit(path: &Path) -> [PathBuf; 2] {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = name.trim_end_matches(".base").trim_end_matches(".new");
    [path.with_file_name(text), path.with_file_name(format!("{text}.base"))]
}

/// Tells whether a user has the text in an editor, as far as that can be found out.
fn is_somebody_at(path: &Path) -> bool {
    let [_, base] = of_one_edit(path);
    match open_existing(&base) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use taskyard::core::Timestamp;

    use super::old_texts;
    use crate::edits::Desk;

    #[test]
    fn only_what_nobody_has_touched_for_long_and_nobody_is_at_is_old() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::in_data(place.path());
        let [left, open, typed] = ["left", "open", "typed"].map(|name| desk.lay_out(name, "text", "base").unwrap());
        drop((left, typed));
        fs::write(place.path().join("edits/alone.md.new"), "x").unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
        let names = ["left.md", "left.md.base", "open.md", "open.md.base", "typed.md.base", "alone.md.new"];
        for name in names {
            let file = File::options().append(true).open(place.path().join("edits").join(name)).unwrap();
            file.set_modified(yesterday).unwrap();
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let an_hour_ago = Timestamp(i64::try_from(now).unwrap() - 60 * 60 * 1000);
        let old = old_texts(place.path(), an_hour_ago);
        let found: Vec<_> = old.iter().map(|old| old.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(found, ["alone.md.new", "left.md", "left.md.base"]);
        assert_eq!(old_texts(place.path(), Timestamp(0)), []);
        drop(open);
    }
}
