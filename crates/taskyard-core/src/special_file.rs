//! What may stand in the place of a regular file.

use std::fmt;

/// Something that has a file's name and is no regular file. None of these is ever opened as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialFile {
    /// A symbolic link, whatever it leads to.
    Link,
    /// A directory.
    Directory,
    /// A named pipe, from which a reader would wait for a writer.
    Pipe,
    /// A socket.
    Socket,
    /// A device, which may have no end.
    Device,
}

impl fmt::Display for SpecialFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Link => "a link",
            Self::Directory => "a directory",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}
