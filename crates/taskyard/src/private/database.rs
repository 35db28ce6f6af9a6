//! Databases, which SQLite opens by their names.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Stat, lstat};
use rustix::io::Errno;

use super::file::create_new;
use super::owner::{is_to_be_closed, kind, must_be_ours};
use super::tightening::tighten_below;
use super::{NotPrivate, make_directory};

/// Makes sure that a database of a data directory is private before SQLite opens it for writing, and makes it where there is
/// none. SQLite gives the files that it puts beside a database the mode that the database has.
pub(crate) fn prepare_database(data: &Path, path: &Path) -> io::Result<()> {
    if has_database(data, path)? {
        return Ok(());
    }
    match path.parent() {
        Some(directory) if directory != data => make_directory(directory)?,
        _ => super::make_data_directory(data)?,
    }
    match create_new(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => has_database(data, path).map(drop),
        made => made.map(drop),
    }
}

/// Tells whether there is a database; one that an older version left open is closed, and with it everything of ours.
pub(crate) fn has_database(data: &Path, path: &Path) -> io::Result<bool> {
    let found = match lstat(path) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    must_be_a_database(path, &found)?;
    if is_to_be_closed(&found) {
        tighten_below(data);
    }
    Ok(true)
}

fn must_be_a_database(path: &Path, found: &Stat) -> Result<(), NotPrivate> {
    if kind(found) != FileType::RegularFile {
        return Err(NotPrivate::no_file(path));
    }
    must_be_ours(path, found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::prepare_database;

    #[test]
    fn one_open_database_has_everything_of_ours_closed() {
        let place = tempfile::tempdir().unwrap();
        let (other, own) = (place.path().join("lists/a/journal.sqlite"), place.path().join("lists/b/journal.sqlite"));
        for path in [&other, &own] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        prepare_database(place.path(), &own).unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&own), mode(&other), mode(&place.path().join("lists"))), (0o600, 0o600, 0o700));
    }

    #[test]
    fn a_link_in_the_place_of_a_database_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("machine.sqlite");
        symlink(place.path().join("elsewhere"), &path).unwrap();
        assert!(prepare_database(place.path(), &path).is_err());
        assert!(!place.path().join("elsewhere").exists());
    }
}
