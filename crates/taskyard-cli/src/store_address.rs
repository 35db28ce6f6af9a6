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
    /// Documents in the client's own place for lists.
    Documents,
    /// One document.
    Document(PathBuf),
    /// A teaching folder.
    Teaching(PathBuf),
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
            Some(("document", "")) => Ok(Self::Documents),
            Some(("document", path)) => Ok(Self::Document(base.join(path))),
            Some(("teaching", "")) => Err(Problem::usage("bad_store", "the store `teaching:` names no directory")
                .hint("write `teaching:DIRECTORY`, `teaching:.tasks` say")),
            Some(("teaching", path)) => Ok(Self::Teaching(base.join(path))),
            _ => Err(Problem::usage("bad_store", format!("`{address}` is no store that is known")).hint(
                "use `claude:` (the default), `file:DIRECTORY`, `document:[FILE]`, `teaching:DIRECTORY` or `memory:`",
            )),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claude => formatter.write_str("claude:"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Documents => formatter.write_str("document:"),
            Self::Document(path) => write!(formatter, "document:{}", path.display()),
            Self::Teaching(path) => write!(formatter, "teaching:{}", path.display()),
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
        assert_eq!(parse("document:"), Some(StoreAddress::Documents));
        assert_eq!(parse("document:t.json"), Some(StoreAddress::Document(PathBuf::from("/projects/t.json"))));
        assert_eq!(parse("teaching:.tasks"), Some(StoreAddress::Teaching(PathBuf::from("/projects/.tasks"))));
        for address in ["", "teaching:", "file", "file:", "claude", "claude:x", "sqlite:x"] {
            assert_eq!(parse(address), None, "{address}");
        }
    }
}
