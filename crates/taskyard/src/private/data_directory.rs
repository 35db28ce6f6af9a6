//! The data directory itself.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, stat};
use rustix::io::Errno;

use super::NotPrivate;
use super::directory::{close, make_directory};
use super::owner::{is_open, is_to_be_closed, kind, must_be_ours, rights};
use super::tightening::{holds_only_ours, holds_open, tighten_below};

/// The rights with which other users can put files into a directory.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes sure that a data directory is ours and closed to other users; one that is not there yet is fine. What an older version left open
/// is closed, with everything in it.
///
/// A directory in which there is more than ours, a home say, keeps the rights it has, and what is ours in it is closed; where other users
/// can write to it, it is refused.
pub fn secure_data_directory(data: &Path) -> Result<(), NotPrivate> {
    let Ok(found) = stat(data) else { return Ok(()) };
    if kind(&found) != FileType::Directory {
        return Ok(());
    }
    must_be_ours(data, &found)?;
    if !is_open(&found) {
        return Ok(());
    }
    let is_ours_alone = is_to_be_closed(&found) && holds_only_ours(data);
    if is_ours_alone {
        close(data, rights(&found));
    }
    if is_ours_alone || holds_open(data) {
        tighten_below(data);
    }
    let rights_left = stat(data).map_or(0, |found| rights(&found));
    if rights_left & WRITABLE_BY_OTHERS != 0 {
        return Err(NotPrivate::OpenToOthers { path: data.to_owned() });
    }
    Ok(())
}

/// Makes a data directory where there is none, and makes sure that it is ours and closed to other users.
pub fn make_data_directory(data: &Path) -> io::Result<()> {
    match stat(data) {
        Ok(found) if kind(&found) == FileType::Directory => Ok(secure_data_directory(data)?),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(Errno::NOENT) => make_directory(data),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{NotPrivate, secure_data_directory};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_an_older_version_left_open_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path();
        for directory in ["lists/a", "jobs", "inboxes", "set-aside"] {
            fs::create_dir_all(data.join(directory)).unwrap();
        }
        let files = ["lists/a/journal.sqlite-shm", "lists/a/queue", "machine.sqlite", "jobs/x.map", "teams.sqlite-wal"];
        for file in files {
            fs::write(data.join(file), "").unwrap();
            set(&data.join(file), 0o666);
        }
        set(data, 0o755);
        secure_data_directory(data).unwrap();
        for directory in ["", "lists", "lists/a", "jobs", "inboxes", "set-aside"] {
            assert_eq!(mode(&data.join(directory)), 0o700, "{directory}");
        }
        for file in files {
            assert_eq!(mode(&data.join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn a_directory_with_other_things_in_it_keeps_its_rights_and_what_is_ours_is_closed() {
        let place = tempfile::tempdir().unwrap();
        for file in ["bin", "machine.sqlite"] {
            fs::write(place.path().join(file), "").unwrap();
            set(&place.path().join(file), 0o755);
        }
        set(place.path(), 0o755);
        secure_data_directory(place.path()).unwrap();
        assert_eq!((mode(place.path()), mode(&place.path().join("bin"))), (0o755, 0o755));
        assert_eq!(mode(&place.path().join("machine.sqlite")), 0o600);
        set(place.path(), 0o1777);
        assert!(matches!(secure_data_directory(place.path()), Err(NotPrivate::OpenToOthers { .. })));
    }

    #[test]
    fn a_link_in_it_leads_nowhere_for_us() {
        let (place, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = theirs.path().join("outside");
        fs::write(&outside, "").unwrap();
        set(&outside, 0o644);
        fs::create_dir(place.path().join("jobs")).unwrap();
        std::os::unix::fs::symlink(&outside, place.path().join("jobs/link")).unwrap();
        std::os::unix::fs::symlink(theirs.path(), place.path().join("lists")).unwrap();
        set(place.path(), 0o755);
        set(theirs.path(), 0o755);
        secure_data_directory(place.path()).unwrap();
        assert_eq!((mode(&outside), mode(theirs.path())), (0o644, 0o755));
    }
}
