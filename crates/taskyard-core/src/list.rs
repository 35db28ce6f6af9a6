//! Lists: names, directories and the rules that apply.

use std::fmt;
use std::str::FromStr;

/// The name of a task list.
///
/// Any text can name a list. The directory is the name with every UTF-16 unit outside `[a-zA-Z0-9_-]` replaced by
/// `-`, as Claude Code derives it. Two names with the same directory are the same list; the machine records which of
/// the names is in use.
#[derive(Clone, Debug)]
pub struct ListId {
    name: String,
    directory: String,
}

/// Why text cannot name a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadListName {
    /// The text is empty.
    #[error("a list name cannot be empty")]
    Empty,
    /// The name is too long for a directory name.
    #[error("a list name of {length} bytes is too long (the limit is {})", ListId::LONGEST)]
    TooLong {
        /// The rejected length, in bytes.
        length: usize,
    },
}

impl ListId {
    /// The maximum length of a name in bytes.
    pub(crate) const LONGEST: usize = 255;

    /// Creates a list id. Fails if the name is empty or too long.
    pub fn new(name: impl Into<String>) -> Result<Self, BadListName> {
        let name = name.into();
        if name.is_empty() {
            return Err(BadListName::Empty);
        }
        if name.len() > Self::LONGEST {
            return Err(BadListName::TooLong { length: name.len() });
        }
        let directory = sanitize(&name);
        Ok(Self { name, directory })
    }

    /// Returns the name as it was given.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name of the list's directory.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Returns whether the name equals the name of the directory.
    pub fn is_plain(&self) -> bool {
        self.name == self.directory
    }

    /// Returns the list that is named like its directory.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { name: self.directory.clone(), directory: self.directory.clone() }
    }

    /// Returns a list with a different directory: the name is followed by a hash, cut to `digits` digits.
    #[must_use]
    pub fn apart(&self, digits: usize) -> Self {
        let hash = format!("{:016x}", fnv1a(self.name.as_bytes()));
        let hash = &hash[..digits.min(hash.len())];
        let kept = self.directory.len().min(Self::LONGEST - 1 - hash.len());
        let directory = format!("{}-{hash}", &self.directory[..kept]);
        Self { name: directory.clone(), directory }
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl PartialEq for ListId {
    fn eq(&self, other: &Self) -> bool {
        self.directory == other.directory
    }
}

impl Eq for ListId {}

impl std::hash::Hash for ListId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.directory.hash(state);
    }
}

impl PartialOrd for ListId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ListId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.directory.cmp(&other.directory)
    }
}

impl FromStr for ListId {
    type Err = BadListName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

impl fmt::Display for ListId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// Replaces every UTF-16 unit outside `[a-zA-Z0-9_-]` by `-`, as the client does with list and task names.
pub(crate) fn sanitize(name: &str) -> String {
    name.encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if is_safe_byte(byte) => char::from(byte),
            _ => '-',
        })
        .collect()
}

/// Returns whether the client leaves this byte unchanged in a file name.
pub(crate) const fn is_safe_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A release of Claude Code whose behaviour was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClientVersion {
    /// 2.1.34, the release the seed documents describe.
    V2_1_34,
    /// 2.1.325, the newest recorded release.
    #[default]
    V2_1_325,
}

impl ClientVersion {
    /// Every recorded release, oldest first.
    pub const ALL: [Self; 2] = [Self::V2_1_34, Self::V2_1_325];

    /// Returns the version number as the client prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2_1_34 => "2.1.34",
            Self::V2_1_325 => "2.1.325",
        }
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A client version whose behaviour was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown client version `{version}`: expected 2.1.34 or 2.1.325")]
pub struct UnknownClientVersion {
    /// The rejected version.
    pub(crate) version: String,
}

impl FromStr for ClientVersion {
    type Err = UnknownClientVersion;

    fn from_str(version: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.as_str() == version)
            .ok_or_else(|| UnknownClientVersion { version: version.to_owned() })
    }
}

/// The rules in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Taskyard's own rules: accept any input, write only valid data.
    #[default]
    Strict,
    /// The behaviour of a recorded client, reproduced exactly.
    Client(ClientVersion),
}

impl Rules {
    /// Returns whether these are client rules.
    pub const fn is_client(self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Returns the client whose formats and wording are used; under strict rules, the newest.
    pub fn client_version(self) -> ClientVersion {
        match self {
            Self::Strict => ClientVersion::default(),
            Self::Client(version) => version,
        }
    }
}

/// A file system object that is not a regular file. None of these is ever opened as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialFile {
    /// A symbolic link, whatever its target.
    Link,
    /// A directory.
    Directory,
    /// A named pipe; reading it would block until there is a writer.
    Pipe,
    /// A socket.
    Socket,
    /// A device, whose data may be endless.
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

#[cfg(test)]
mod tests {
    use super::{BadListName, ListId};

    #[test]
    fn the_directory_is_made_as_the_client_makes_it() {
        for (name, directory) in
            [("my team/é!.x", "my-team----x"), ("..", "--"), ("日本", "--"), ("😀x", "--x"), ("A_b-9", "A_b-9")]
        {
            assert_eq!(ListId::new(name).unwrap().directory(), directory, "{name}");
        }
    }

    #[test]
    fn only_empty_and_overlong_names_are_refused() {
        assert_eq!(ListId::new(""), Err(BadListName::Empty));
        assert_eq!(ListId::new("x".repeat(300)), Err(BadListName::TooLong { length: 300 }));
        assert!(ListId::new("x".repeat(255)).is_ok());
    }

    #[test]
    fn names_that_fold_are_kept_apart_by_a_hash() {
        let [one, two] = ["东京", "北京"].map(|name| ListId::new(name).unwrap());
        assert_eq!((one.directory(), one.is_plain(), one.plain().as_str()), ("--", false, "--"));
        assert!(one.apart(8).is_plain() && one.apart(8).directory().starts_with("---"));
        assert_ne!(one.apart(8), two.apart(8));
        assert_eq!(ListId::new(one.apart(8).as_str()).unwrap(), one.apart(8));
        let long = ListId::new("/".repeat(255)).unwrap().apart(16);
        assert_eq!(long.directory().len(), 255);
        assert!(ListId::new(long.as_str()).is_ok());
    }

    #[test]
    fn two_names_with_one_directory_are_one_list() {
        assert_eq!(ListId::new("a b").unwrap(), ListId::new("a/b").unwrap());
    }
}
