//! Private files.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat};
use rustix::io::Errno;

use super::NotPrivate;
use super::owner::{give_file, kind, must_be_ours, rights};

/// The rights on a file of ours.
pub(super) const FILE: u32 = 0o600;

/// Opens a file of ours to read and write, making it where there is none.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::CREATE)
}

/// Opens a file of ours to read and write, where there is one.
pub fn open_existing(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

/// Makes a file of ours, empty, in the place of whatever file was there.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open_with(path, OFlags::CREATE)?;
    // Not before it is known to be ours.
    file.set_len(0)?;
    Ok(file)
}

/// Makes a file of ours where there is nothing of that name.
pub fn create_new(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::CREATE | OFlags::EXCL)
}

/// Opens a file of ours to read it, as it is.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    opened(path, OFlags::RDONLY).map(|(file, _)| file)
}

fn open_with(path: &Path, how: OFlags) -> io::Result<File> {
    let (file, found) = opened(path, how | OFlags::RDWR)?;
    if rights(&found) != FILE {
        // The umask took our own rights, or an older version gave other users some.
        fchmod(&file, Mode::from_raw_mode(FILE))?;
    }
    if found.st_size == 0 {
        give_file(&file, path);
    }
    Ok(file)
}

/// Opens a file that has to be ours, and looks at it.
fn opened(path: &Path, how: OFlags) -> io::Result<(File, Stat)> {
    // A pipe of that name must not make us wait.
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::from_raw_mode(FILE)) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Err(NotPrivate::no_file(path).into()),
        Err(error) => return Err(error.into()),
    };
    let found = fstat(&file)?;
    if kind(&found) != FileType::RegularFile {
        return Err(NotPrivate::no_file(path).into());
    }
    must_be_ours(path, &found)?;
    Ok((file, found))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::{create, create_new, open};

    #[test]
    fn a_file_is_private_whether_it_is_new_or_was_open_to_others() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        open(&path).unwrap().write_all(b"words").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let mut text = String::new();
        open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((mode(), text.as_str()), (0o600, "words"));
        assert_eq!(create_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        create(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_link_or_a_pipe_is_no_file_of_ours_and_what_it_leads_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let [target, link, pipe] = ["target", "link", "pipe"].map(|name| place.path().join(name));
        fs::write(&target, "theirs").unwrap();
        symlink(&target, &link).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o666.into()).unwrap();
        for path in [&link, &pipe] {
            assert!(open(path).is_err() && create(path).is_err() && create_new(path).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
    }
}
