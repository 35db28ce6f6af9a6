//! Safe access to files that other programs may have created: only regular files are opened, read or replaced.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;
use taskyard_core::SpecialFile;
use taskyard_core::dialect::native::Unreadable;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    /// It is not a regular file.
    #[error("it is {found}, not a regular file")]
    NotRegular {
        /// The kind of file found.
        found: SpecialFile,
    },
    /// The file is larger than the limit.
    #[error("it is {size} bytes large (the limit is {limit})")]
    TooLarge {
        /// The size in bytes, as far as it was read.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The underlying system error.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl NotRead {
    /// Returns whether no file of that name exists.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::System(error) if is_of_no_file(error))
    }

    /// Converts this to the reason why a file contains no readable task, or to an error if the file is not the cause.
    pub(crate) fn of_a_task(self) -> io::Result<Unreadable> {
        match self {
            Self::NotRegular { found } => Ok(Unreadable::NotAFile { found }),
            Self::TooLarge { size, limit } => Ok(Unreadable::TooLarge { size, limit }),
            Self::System(error) => Err(error),
        }
    }
}

/// Returns whether an error means that no file of that name exists. A name that is too long cannot exist.
pub(crate) fn is_of_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

impl From<NotRead> for io::Error {
    fn from(why: NotRead) -> Self {
        match why {
            NotRead::System(error) => error,
            why => Self::new(io::ErrorKind::InvalidData, why),
        }
    }
}

/// The flags for every open: do not wait for a pipe, and do not make a terminal the controlling one.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a name in a directory without following a link. The caller must then check with [`must_fit`] that the opened
/// file is a regular file.
pub(crate) fn open_at(directory: BorrowedFd<'_>, name: &CStr) -> Result<File, NotRead> {
    open_with(directory, name, OFlags::NOFOLLOW)
}

/// Fails unless an opened file is a regular file within the limit.
pub(crate) fn must_fit(kind: FileType, size: u64, limit: u64) -> Result<(), NotRead> {
    match special(kind) {
        Some(found) => Err(NotRead::NotRegular { found }),
        None if size > limit => Err(NotRead::TooLarge { size, limit }),
        None => Ok(()),
    }
}

/// Reads an open file of about this size, but never more than the limit, even if it grows in the meantime.
pub(crate) fn read_open(file: impl io::Read, size: u64, limit: u64) -> Result<Vec<u8>, NotRead> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit { Err(NotRead::TooLarge { size, limit }) } else { Ok(bytes) }
}

/// Reads from an offset of an open file until the buffer is full or the file ends, and returns the number of bytes
/// read. Retries after signals and short reads.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Opens the file at a path; fails if it is a link.
pub(crate) fn open(path: &Path, limit: u64) -> Result<(File, Stat), NotRead> {
    looked_at(open_with(CWD, path, OFlags::NOFOLLOW)?, limit)
}

/// Reads the file at a path; fails if it is a link.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, NotRead> {
    let (file, stat) = open(path, limit)?;
    read_open(file, size_of(&stat), limit)
}

/// Reads at most `most` bytes of the file at a path, starting at an offset; fails if it is a link.
pub fn read_from(path: &Path, offset: u64, most: u64) -> Result<Vec<u8>, NotRead> {
    let (mut file, _) = open(path, u64::MAX)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the last `most` bytes of the file at a path; fails if it is a link.
pub fn read_end(path: &Path, most: u64) -> Result<Vec<u8>, NotRead> {
    let length = std::fs::symlink_metadata(path)?.len();
    read_from(path, length.saturating_sub(most), most)
}

/// Reads the file at a path, following links. For paths that the user controls.
pub fn read_following(path: &Path, limit: u64) -> Result<Vec<u8>, NotRead> {
    let (file, stat) = looked_at(open_with(CWD, path, OFlags::empty())?, limit)?;
    read_open(file, size_of(&stat), limit)
}

/// Opens a file of another program, to lock it and change it in place.
pub(crate) fn open_to_change(path: &Path) -> Result<File, NotRead> {
    let file = open_with(CWD, path, OFlags::RDWR | OFlags::NOFOLLOW)?;
    Ok(looked_at(file, u64::MAX)?.0)
}

/// Returns the kind of the file at a path if it is not regular; `None` if it is regular or does not exist.
pub(crate) fn special_at(path: &Path) -> io::Result<Option<SpecialFile>> {
    match rustix::fs::lstat(path) {
        Ok(stat) => Ok(special(kind_of(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Fails if the file at a path exists and is not regular: writing would replace it, or go through it.
pub(crate) fn must_be_replaceable(path: &Path) -> io::Result<()> {
    match special_at(path)? {
        Some(found) => Err(NotRead::NotRegular { found }.into()),
        None => Ok(()),
    }
}

/// Returns the kind of a file if it is not regular.
pub(crate) fn special(kind: FileType) -> Option<SpecialFile> {
    Some(match kind {
        FileType::RegularFile => return None,
        FileType::Symlink => SpecialFile::Link,
        FileType::Directory => SpecialFile::Directory,
        FileType::Fifo => SpecialFile::Pipe,
        FileType::Socket => SpecialFile::Socket,
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => SpecialFile::Device,
    })
}

fn open_with(directory: BorrowedFd<'_>, name: impl Arg + Copy, further: OFlags) -> Result<File, NotRead> {
    let error = match rustix::fs::openat(directory, name, FLAGS | further, Mode::empty()) {
        Ok(file) => return Ok(File::from(file)),
        Err(error) => error,
    };
    // For a link, a socket or a device without a driver, the error code is ambiguous.
    if error != Errno::NOENT
        && further.contains(OFlags::NOFOLLOW)
        && let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        && let Some(found) = special(kind_of(&stat))
    {
        return Err(NotRead::NotRegular { found });
    }
    Err(NotRead::System(error.into()))
}

fn looked_at(file: File, limit: u64) -> Result<(File, Stat), NotRead> {
    let stat = rustix::fs::fstat(file.as_fd()).map_err(io::Error::from)?;
    must_fit(kind_of(&stat), size_of(&stat), limit)?;
    Ok((file, stat))
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Creates the file that is to replace the one at `place`. It gets that file's mode before anything is written to it,
/// or the mode given by the umask if there is none.
pub(crate) fn create_replacement(temporary: &Path, place: &Path) -> io::Result<File> {
    let file = File::create_new(temporary)?;
    if let Ok(found) = fs::metadata(place) {
        file.set_permissions(found.permissions())?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use taskyard_core::SpecialFile;

    use super::{NotRead, must_be_replaceable, open, read, read_following, read_open};

    fn found(path: &Path) -> SpecialFile {
        match read(path, 100) {
            Err(NotRead::NotRegular { found }) => found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "contents").unwrap();
        symlink("file", path("link")).unwrap();
        symlink("loop", path("loop")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        fs::create_dir(path("directory")).unwrap();
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _listening = UnixListener::bind(path("socket")).unwrap();
        assert_eq!(read(&path("file"), 100).unwrap(), b"contents");
        for name in ["link", "loop", "dangling", "zero"] {
            assert_eq!(found(&path(name)), SpecialFile::Link, "{name}");
        }
        assert_eq!(found(&path("directory")), SpecialFile::Directory);
        assert_eq!(found(&path("pipe")), SpecialFile::Pipe);
        assert_eq!(found(&path("socket")), SpecialFile::Socket);
        assert_eq!(found(Path::new("/dev/null")), SpecialFile::Device);
        assert!(read(&path("nothing"), 100).unwrap_err().is_missing());
        assert!(read(&path("file/below"), 100).unwrap_err().is_missing());
        assert!(read(&path(&"x".repeat(300)), 100).unwrap_err().is_missing());
        assert!(must_be_replaceable(&path("file")).is_ok() && must_be_replaceable(&path("nothing")).is_ok());
        assert!(must_be_replaceable(&path("dangling")).is_err());
    }

    #[test]
    fn a_users_own_link_is_followed_to_a_regular_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "contents").unwrap();
        symlink("file", path("link")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        assert_eq!(read_following(&path("link"), 100).unwrap(), b"contents");
        let zero = read_following(&path("zero"), 100);
        assert!(matches!(zero, Err(NotRead::NotRegular { found: SpecialFile::Device })), "{zero:?}");
    }

    #[test]
    fn the_limit_holds_for_a_file_that_grows_while_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert!(matches!(read(&path, 4), Err(NotRead::TooLarge { size: 5, limit: 4 })));
        let (file, _) = open(&path, 5).unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"678").unwrap();
        assert!(matches!(read_open(file, 5, 5), Err(NotRead::TooLarge { size: 6, limit: 5 })));
        File::create(&path).unwrap().set_len(9 << 30).unwrap();
        assert!(matches!(read(&path, 100), Err(NotRead::TooLarge { limit: 100, .. })));
    }
}

#[cfg(test)]
mod replacement_tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::create_replacement;

    #[test]
    fn a_replacement_has_the_mode_of_what_it_replaces() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old"), place.path().join("new"));
        fs::write(&old, "").unwrap();
        for mode in [0o600, 0o664, 0o640, 0o444] {
            fs::set_permissions(&old, Permissions::from_mode(mode)).unwrap();
            create_replacement(&new, &old).unwrap();
            assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o7777, mode);
            fs::remove_file(&new).unwrap();
        }
    }
}
