//! How a store is named on the command line.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// A store that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// The client's own lists.
    Claude,
    /// The same layout under another root.
    File(PathBuf),
    /// A store that lives as long as the command.
    Memory,
}

impl StoreAddress {
    /// Reads an address; a relative path counts from `base`.
    pub(crate) fn parse(address: &str, base: &Path) -> Result<Self, Problem> {
        match address.split_once(':') {
            Some(("claude", "")) => Ok(Self::Claude),
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("file", "")) => {
                Err(Problem::usage("bad_store", "the store `file:` names no directory").hint("write `file:DIRECTORY`"))
            }
            Some(("file", path)) => Ok(Self::File(base.join(path))),
            _ => Err(Problem::usage("bad_store", format!("`{address}` is no store that is known"))
                .hint("use `claude:` (the default), `file:DIRECTORY` or `memory:`")),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claude => formatter.write_str("claude:"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Memory => formatter.write_str("memory:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::StoreAddress;

    #[test]
    fn an_address_says_what_it_is_before_the_colon() {
        let parse = |address: &str| StoreAddress::parse(address, Path::new("/projects")).ok();
        assert_eq!(parse("claude:"), Some(StoreAddress::Claude));
        assert_eq!(parse("memory:"), Some(StoreAddress::Memory));
        assert_eq!(parse("file:a"), Some(StoreAddress::File(PathBuf::from("/projects/a"))));
        assert_eq!(parse("file:/a"), Some(StoreAddress::File(PathBuf::from("/a"))));
        for address in ["", "file", "file:", "claude", "claude:x", "sqlite:x"] {
            assert_eq!(parse(address), None, "{address}");
        }
    }
}
