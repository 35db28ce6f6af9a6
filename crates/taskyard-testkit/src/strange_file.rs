//! What may stand in the place of a file, put there on purpose.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

/// Something that no program should open as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrangeFile {
    /// A named pipe without a writer.
    Pipe,
    /// A device without an end, `/dev/zero` under another name.
    Device,
    /// A directory with something in it.
    Directory,
    /// A socket that no program listens at any more.
    Socket,
    /// A link to a good file in the same directory.
    LinkInside,
    /// A link to a good file elsewhere.
    LinkOutside,
    /// A link to nothing.
    LinkToNothing,
    /// A link to a directory.
    LinkToDirectory,
    /// A link to a device without an end.
    LinkToDevice,
    /// A link to itself.
    LinkLoop,
    /// A file of nine gigabytes that takes up no space.
    Huge,
}

impl StrangeFile {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Pipe,
        Self::Device,
        Self::Directory,
        Self::Socket,
        Self::LinkInside,
        Self::LinkOutside,
        Self::LinkToNothing,
        Self::LinkToDirectory,
        Self::LinkToDevice,
        Self::LinkLoop,
        Self::Huge,
    ];

    /// Puts it at a path, in the place of whatever is there. Links to good files lead to this one, beside it or elsewhere. A user that may
    /// not make a device gets a link to one.
    pub fn put(self, path: &Path, good: &Path) {
        let _ = fs::remove_file(path);
        let make = |kind, device| mknodat(CWD, path, kind, Mode::from_raw_mode(0o666), device);
        match self {
            Self::Pipe => make(FileType::Fifo, 0).unwrap(),
            Self::Device => {
                if make(FileType::CharacterDevice, makedev(1, 5)).is_err() {
                    symlink("/dev/zero", path).unwrap();
                }
            }
            Self::Directory => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("inside"), "x").unwrap();
            }
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::LinkInside => {
                let inside = path.with_file_name("good-inside");
                fs::copy(good, &inside).unwrap();
                symlink("good-inside", path).unwrap();
            }
            Self::LinkOutside => symlink(good, path).unwrap(),
            Self::LinkToNothing => symlink("nowhere", path).unwrap(),
            Self::LinkToDirectory => symlink("/tmp", path).unwrap(),
            Self::LinkToDevice => symlink("/dev/zero", path).unwrap(),
            Self::LinkLoop => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::Huge => File::create(path).unwrap().set_len(9 << 30).unwrap(),
        }
    }

    /// Returns what it is called where it stands at a path.
    pub fn called(self, path: &Path) -> &'static str {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        match self {
            _ if is_link => "a link",
            Self::Pipe => "a named pipe",
            Self::Directory => "a directory",
            Self::Socket => "a socket",
            Self::Huge => "9663676416 bytes",
            _ => "a device",
        }
    }
}
