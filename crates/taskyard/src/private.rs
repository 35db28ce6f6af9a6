//! Files and directories that other users cannot read: everything in the data directory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use rustix::fd::AsFd;
use rustix::fs::{FileType, Mode, OFlags, Stat, chmod, chownat, fchmod, fchown, fstat, lstat, mkdir, stat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};

/// The mode of our directories.
const DIRECTORY: u32 = 0o700;

/// Creates one of our directories and its missing parents. An existing directory is closed to other users.
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

/// Removes the rights of other users on a directory. On failure, the directory is root's or on a read-only file system,
/// and a process that only reads must not fail for it.
fn close(path: &Path, rights: u32) {
    if let Err(error) = chmod(path, Mode::from_raw_mode(rights & DIRECTORY)) {
        tracing::debug!(path = %path.display(), %error, "a directory stays open to others");
    }
}

/// Creates a directory and its missing parents.
fn make(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    match (make_one(path), above) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            // Another process may have created it since. If it exists and nothing can be created in it, the next call
            // fails and says why.
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
            // The umask may have removed our own rights.
            chmod(path, Mode::from_raw_mode(DIRECTORY))?;
            give_directory(path);
            Ok(())
        }
        // Another process was faster.
        Err(Errno::EXIST) if path.is_dir() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The mode bits that allow other users to create files in a directory.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes sure that a data directory belongs to us and is closed to other users; a missing directory is accepted. If an
/// older version left it open, it is closed, including its contents.
///
/// A directory that also contains other files, for example a home directory, keeps its mode, and only our files in it
/// are closed. It is rejected if other users can write to it.
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

/// Creates a data directory if it does not exist, and makes sure that it belongs to us and is closed to other users.
pub fn make_data_directory(data: &Path) -> io::Result<()> {
    match stat(data) {
        Ok(found) if kind(&found) == FileType::Directory => Ok(secure_data_directory(data)?),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(Errno::NOENT) => make_directory(data),
        Err(error) => Err(error.into()),
    }
}

/// The mode of our files.
const FILE: u32 = 0o600;

/// Opens one of our files for reading and writing, creating it if it does not exist.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::CREATE)
}

/// Opens one of our existing files for reading and writing.
pub fn open_existing(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

/// Creates one of our files, or truncates it if it exists.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open_with(path, OFlags::CREATE)?;
    // Truncate only after checking that the file is ours.
    file.set_len(0)?;
    Ok(file)
}

/// Creates one of our files; fails if the name is taken.
pub fn create_new(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::CREATE | OFlags::EXCL)
}

/// Opens one of our files for reading, without changing its mode.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    opened(path, OFlags::RDONLY).map(|(file, _)| file)
}

fn open_with(path: &Path, how: OFlags) -> io::Result<File> {
    let (file, found) = opened(path, how | OFlags::RDWR)?;
    if rights(&found) != FILE {
        // The umask removed our own rights, or an older version gave rights to other users.
        fchmod(&file, Mode::from_raw_mode(FILE))?;
    }
    if found.st_size == 0 {
        give_file(&file, path);
    }
    Ok(file)
}

/// Opens a file, checks that it is a regular file of ours, and returns its metadata.
fn opened(path: &Path, how: OFlags) -> io::Result<(File, Stat)> {
    // Do not block if the name refers to a pipe.
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

/// Makes sure that a database in a data directory is private before SQLite opens it for writing, creating it if
/// necessary. SQLite gives its accompanying files the mode of the database.
pub(crate) fn prepare_database(data: &Path, path: &Path) -> io::Result<()> {
    if has_database(data, path)? {
        return Ok(());
    }
    match path.parent() {
        Some(directory) if directory != data => make_directory(directory)?,
        _ => make_data_directory(data)?,
    }
    match create_new(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => has_database(data, path).map(drop),
        made => made.map(drop),
    }
}

/// Returns whether a database exists. If an older version left it open to other users, it is closed, as is everything
/// else of ours.
pub(crate) fn has_database(data: &Path, path: &Path) -> io::Result<bool> {
    database_at(data, path).map(|found| found.is_some())
}

/// Like [`has_database`], but returns the database's metadata; `None` if there is none.
pub(crate) fn database_at(data: &Path, path: &Path) -> io::Result<Option<Stat>> {
    let found = match lstat(path) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    must_be_a_database(path, &found)?;
    if is_to_be_closed(&found) {
        tighten_below(data);
    }
    Ok(Some(found))
}

fn must_be_a_database(path: &Path, found: &Stat) -> Result<(), NotPrivate> {
    if kind(found) != FileType::RegularFile {
        return Err(NotPrivate::no_file(path));
    }
    must_be_ours(path, found)
}

/// Returns whether the owner is this user or root, which can change everything anyway.
pub fn is_ours_or_roots(owner: u32) -> bool {
    owner == user().as_raw() || owner == 0
}

/// Returns the effective user id of this process, which never changes.
fn user() -> Uid {
    static USER: OnceLock<Uid> = OnceLock::new();
    *USER.get_or_init(geteuid)
}

/// Fails if another user owns the file. Root may use every user's files, since it can access them anyway and works on
/// users' behalf.
fn must_be_ours(path: &Path, found: &Stat) -> Result<(), NotPrivate> {
    if is_ours_or_roots(found.st_uid) || user().is_root() {
        return Ok(());
    }
    Err(NotPrivate::foreign(path, found.st_uid))
}

#[allow(clippy::useless_conversion, reason = "a mode is narrower on other systems")]
fn rights(found: &Stat) -> u32 {
    u32::from(found.st_mode) & 0o7777
}

/// Returns whether anyone but the owner has any rights on it.
fn is_open(found: &Stat) -> bool {
    rights(found) & 0o077 != 0
}

/// Returns whether other users have rights on it that we are able to remove.
fn is_to_be_closed(found: &Stat) -> bool {
    is_open(found) && (user().is_root() || found.st_uid == user().as_raw())
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Gives a file that root has just created to the owner of its directory, who could not use it otherwise.
fn give_file(file: impl AsFd, path: &Path) {
    if let Some((owner, group)) = owner_above(path) {
        let _ = fchown(file, Some(owner), Some(group));
    }
}

/// Gives a directory that root has just created to the owner of its parent.
fn give_directory(path: &Path) {
    if let Some((owner, group)) = owner_above(path) {
        let _ = chownat(rustix::fs::CWD, path, Some(owner), Some(group), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn owner_above(path: &Path) -> Option<(Uid, Gid)> {
    if !user().is_root() {
        return None;
    }
    let above = stat(path.parent()?).ok()?;
    // In a directory where all users can create files, its owner has no claim on them.
    (above.st_uid != 0 && rights(&above) & 0o002 == 0)
        .then(|| (Uid::from_raw(above.st_uid), Gid::from_raw(above.st_gid)))
}

/// Our names in a data directory, or their prefixes.
const DIRECTORIES: [&str; 7] = ["lists", "jobs", "inboxes", "set-aside", "alive", "hook-turns", "edits"];
const FILES: [&str; 8] =
    ["machine.", "teams.sqlite", "archive.sqlite", "tidied", "elapsed", TOKEN, ".serve-token.", "serve-open-"];
/// A secret that other users could have written does not become trustworthy by closing it: its readers reject it.
const TOKEN: &str = "serve-token";

/// Returns whether a data directory contains only our files.
fn holds_only_ours(data: &Path) -> bool {
    names(data).all(|name| is_ours(&name))
}

/// Returns whether any of our files in a data directory is open to other users and can be closed. Deeper levels were
/// left open only together with these.
fn holds_open(data: &Path) -> bool {
    let is_open = |name: String| lstat(data.join(name)).is_ok_and(|found| is_to_be_closed(&found));
    names(data).filter(|name| is_ours(name)).any(is_open)
}

/// Closes all of our files in a data directory, whichever version left them open. Files that cannot be closed are left
/// as they are.
fn tighten_below(data: &Path) {
    tracing::info!(data = %data.display(), "what other users could read is closed to them");
    for name in names(data).filter(|name| is_ours(name)) {
        tighten(&data.join(name));
    }
}

fn is_ours(name: &str) -> bool {
    DIRECTORIES.contains(&name) || FILES.iter().any(|start| name.starts_with(start))
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn tighten(path: &Path) {
    let Ok(found) = lstat(path) else { return };
    match kind(&found) {
        FileType::Directory => {
            // The directory first: afterwards no other user can replace its contents.
            if is_open(&found) {
                close(path, rights(&found));
            }
            names(path).for_each(|name| tighten(&path.join(name)));
        }
        FileType::RegularFile if is_open(&found) && !is_doubtful_secret(path, &found) => {
            if let Err(error) = chmod(path, Mode::from_raw_mode(rights(&found) & FILE)) {
                tracing::debug!(path = %path.display(), %error, "a file stays open to others");
            }
        }
        _ => {}
    }
}

fn is_doubtful_secret(path: &Path, found: &Stat) -> bool {
    path.file_name().is_some_and(|name| name == TOKEN) && rights(found) & 0o022 != 0
}

/// Why a file or directory that should be private is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPrivate {
    /// It belongs to another user, who may read and change it.
    #[error("`{}` belongs to another user (uid {owner})", .path.display())]
    ForeignOwner {
        /// The file or directory.
        path: PathBuf,
        /// The other user's uid.
        owner: u32,
    },
    /// Other users can create files there, and we cannot prevent this because the directory is not, or not only, ours.
    #[error("other users can write to `{}`", .path.display())]
    OpenToOthers {
        /// The directory.
        path: PathBuf,
    },
    /// There is a link, a pipe or the like where one of our files should be.
    #[error("`{}` is not a regular file", .path.display())]
    NoFile {
        /// Its path.
        path: PathBuf,
    },
}

impl NotPrivate {
    fn foreign(path: &Path, owner: u32) -> Self {
        Self::ForeignOwner { path: path.to_owned(), owner }
    }

    fn no_file(path: &Path) -> Self {
        Self::NoFile { path: path.to_owned() }
    }
}

impl From<NotPrivate> for io::Error {
    fn from(why: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
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

#[cfg(test)]
mod data_directory_tests {
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
    fn shared_directory_keeps_its_mode_and_our_files_are_private() {
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

#[cfg(test)]
mod file_tests {
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
    fn link_or_pipe_is_not_ours_and_its_target_stays() {
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

#[cfg(test)]
mod database_tests {
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
