//! How a list is named, and the directory that name becomes.

use std::fmt;
use std::str::FromStr;

/// The name of a task list.
///
/// Any text names a list; its directory is the name with every UTF-16 unit outside `[a-zA-Z0-9_-]` replaced by `-`, as the
/// client makes it. Two names with one directory are one list; which of several names has a directory is recorded on the machine.
#[derive(Clone, Debug)]
pub struct ListId {
    name: String,
    directory: String,
}

/// Text that cannot name a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadListName {
    /// Nothing was given.
    #[error("a list name cannot be empty")]
    Empty,
    /// Longer than a directory name can be.
    #[error("a list name of {length} bytes is too long (the limit is {})", ListId::LONGEST)]
    TooLong {
        /// The length that was given.
        length: usize,
    },
}

impl ListId {
    /// The longest name, in bytes: what a directory name can hold.
    pub(crate) const LONGEST: usize = 255;

    /// Takes a name for a list.
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

    /// Tells whether the name is that of the directory, to the letter.
    pub fn is_plain(&self) -> bool {
        self.name == self.directory
    }

    /// Returns the list whose name is that of the directory.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { name: self.directory.clone(), directory: self.directory.clone() }
    }

    /// Returns a list whose directory differs from the one this name would have: a hash of the name follows, cut to `digits` digits.
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

/// Tells whether the client leaves this byte as it is in a file name.
pub(crate) const fn is_safe_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
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
