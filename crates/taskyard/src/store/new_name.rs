//! Giving a file a name that nothing has.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Renames a file to a name that nothing has; whatever has it, a link that leads nowhere included, stays and is an error of the
/// kind `AlreadyExists`.
pub(super) fn rename_to_new(directory: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> io::Result<()> {
    let directory = directory.as_fd();
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag. A second name for a file is never given in the place of another.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::linkat(directory, from, directory, to, AtFlags::empty()) {
                Ok(()) => Ok(rustix::fs::unlinkat(directory, from, AtFlags::empty())?),
                Err(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) => rename_after_a_look(directory, from, to),
                Err(error) => Err(error.into()),
            }
        }
        renamed => Ok(renamed?),
    }
}

/// Renames where a file can neither be renamed with care nor have two names: then a look a moment before has to do.
fn rename_after_a_look(directory: impl AsFd, from: impl Arg, to: impl Arg + Copy) -> io::Result<()> {
    let directory = directory.as_fd();
    match rustix::fs::statat(directory, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(rustix::fs::renameat(directory, from, directory, to)?),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;

    use rustix::fs::CWD;

    use super::{rename_after_a_look, rename_to_new};

    #[test]
    fn what_has_the_name_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [from, file, link, directory] = ["from", "file", "link", "directory"].map(|name| folder.path().join(name));
        fs::write(&from, "new").unwrap();
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        fs::create_dir(&directory).unwrap();
        for taken in [&file, &link, &directory] {
            for rename in [|from, to| rename_to_new(CWD, from, to), |from, to| rename_after_a_look(CWD, from, to)] {
                assert_eq!(rename(&from, taken).unwrap_err().kind(), ErrorKind::AlreadyExists, "{}", taken.display());
            }
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_free_name_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = ["first", "second", "third"].map(|name| folder.path().join(name));
        fs::write(&first, "new").unwrap();
        rename_to_new(CWD, &first, &second).unwrap();
        rename_after_a_look(CWD, &second, &third).unwrap();
        assert_eq!(fs::read(&third).unwrap(), b"new");
        assert!(!first.exists() && !second.exists());
    }
}
