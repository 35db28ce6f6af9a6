//! Private directories.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, chmod, mkdir, stat};
use rustix::io::Errno;

use super::owner::{give_directory, is_open, kind, must_be_ours, rights};

/// The rights on a directory of ours.
pub(super) const DIRECTORY: u32 = 0o700;

/// Makes a directory of ours where there is none, and those above it; one that is open to other users is closed.
pub fn make_directory(path: &Path) -> io::Result<()> {
    match stat(path) {
        Ok(found) => {
            if kind(&found) != FileType::Directory {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            must_be_ours(path, &found)?;
            if is_open(&found) {
                close(path, rights(&found));
            }
            Ok(())
        }
        Err(Errno::NOENT) => make(path),
        Err(error) => Err(error.into()),
    }
}

/// Takes the rights of other users on a directory away. Where that cannot be, it is root's or on a file system that cannot be written, and
/// a process that only reads must not fail for it.
pub(super) fn close(path: &Path, rights: u32) {
    if let Err(error) = chmod(path, Mode::from_raw_mode(rights & DIRECTORY)) {
        tracing::debug!(path = %path.display(), %error, "a directory stays open to others");
    }
}

/// Makes a directory, and those above it that are missing.
fn make(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    match (make_one(path), above) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            // Another process may have made it since. Where it is there and nothing can be made in it, that is the answer.
            if !above.is_dir() {
                make(above)?;
            }
            make_one(path)
        }
        (made, _) => made,
    }
}

fn make_one(path: &Path) -> io::Result<()> {
    match mkdir(path, Mode::from_raw_mode(DIRECTORY)) {
        Ok(()) => {
            // The umask may have taken our own rights.
            chmod(path, Mode::from_raw_mode(DIRECTORY))?;
            give_directory(path);
            Ok(())
        }
        // Another process was faster.
        Err(Errno::EXIST) if path.is_dir() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;

    use super::make_directory;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_directory_and_those_above_it_are_made_private() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("a/b/c");
        make_directory(&inner).unwrap();
        make_directory(&inner).unwrap();
        for directory in ["a", "a/b", "a/b/c"] {
            assert_eq!(mode(&place.path().join(directory)), 0o700, "{directory}");
        }
    }

    #[test]
    fn of_many_who_make_directories_at_once_none_fails() {
        for _ in 0..100 {
            let place = tempfile::tempdir().unwrap();
            let start = Barrier::new(8);
            thread::scope(|scope| {
                for number in 0..8 {
                    let (start, inner) = (&start, place.path().join(format!("a/b/c/{}", number % 2)));
                    scope.spawn(move || {
                        start.wait();
                        make_directory(&inner).unwrap();
                    });
                }
            });
        }
    }

    #[test]
    fn where_no_directory_can_be_made_that_is_told() {
        assert!(make_directory(Path::new("/proc/taskyard/lists")).is_err());
    }

    #[test]
    fn an_open_directory_is_closed_and_stays_as_writable_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        for (before, after) in [(0o755, 0o700), (0o777, 0o700), (0o555, 0o500), (0o1777, 0o700)] {
            fs::set_permissions(place.path(), fs::Permissions::from_mode(before)).unwrap();
            make_directory(place.path()).unwrap();
            assert_eq!(mode(place.path()), after, "{before:o}");
        }
    }

    #[test]
    fn a_file_or_a_link_to_nothing_is_no_directory() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        symlink("nowhere", place.path().join("link")).unwrap();
        for name in ["file", "file/below", "link", "link/below"] {
            assert!(make_directory(&place.path().join(name)).is_err(), "{name}");
        }
    }
}
