//! The address of a store.

use std::fmt;
use std::path::{Path, PathBuf};

use taskyard_core::ListId;

use super::secrets::{LOCAL, scheme_of, without_password};
use super::{AddressError, OpenError, Openers, Places, WrittenAddress};
use crate::store::DocumentPlace;

/// The address of a store. It is shown without its password, always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
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
    /// A store that lives as long as it is open.
    Memory,
    /// A store of another crate.
    Remote(RemoteAddress),
}

/// The address of a store of another crate.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAddress {
    scheme: String,
    with_password: String,
    shown: String,
}

impl Address {
    /// Reads an address; a relative path counts from `base`.
    pub fn parse(written: &WrittenAddress, base: &Path, openers: &Openers) -> Result<Self, AddressError> {
        let text = written.as_written();
        match text.split_once(':') {
            Some(("claude", "")) => Ok(Self::Claude),
            Some(("memory", "")) => Ok(Self::Memory),
            Some((scheme @ ("file" | "teaching"), "")) => Err(AddressError::NoDirectory { scheme: scheme.to_owned() }),
            Some(("file", path)) => Ok(Self::File(base.join(path))),
            Some(("document", "")) => Ok(Self::Documents),
            Some(("document", path)) => Ok(Self::Document(base.join(path))),
            Some(("teaching", path)) => Ok(Self::Teaching(base.join(path))),
            _ => match scheme_of(text).filter(|scheme| !LOCAL.contains(scheme) && openers.find(scheme).is_some()) {
                Some(scheme) => RemoteAddress::parse(scheme, text).map(Self::Remote),
                None => Err(AddressError::unknown(written.to_string(), openers)),
            },
        }
    }

    /// Tells whether children of this process, who get the address as it is shown, can open it.
    pub fn lets_children_in(&self, openers: &Openers) -> Result<bool, OpenError> {
        match self {
            Self::Remote(remote) => {
                openers.find(remote.scheme()).map_or(Ok(false), |opener| opener.lets_children_in(remote))
            }
            _ => Ok(true),
        }
    }

    /// Returns the directory that holds the lists, where there is one for all of them.
    pub fn tasks_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude => Some(places.client.as_ref()?.join("tasks")),
            Self::File(root) => Some(root.join("tasks")),
            Self::Documents | Self::Document(_) | Self::Teaching(_) | Self::Memory | Self::Remote(_) => None,
        }
    }

    /// Returns the directory that holds the teams which work on the lists: beside those, else the client's own; none where teams are kept
    /// elsewhere.
    pub fn teams_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::File(root) => Some(root.join("teams")),
            Self::Memory | Self::Remote(_) => None,
            _ => Some(places.client.as_ref()?.join("teams")),
        }
    }

    /// Returns where a list of the store lies, a directory or a file; none where that is no path of this machine.
    pub fn path_of_list(&self, list: &ListId, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude | Self::File(_) => Some(self.tasks_directory(places)?.join(list.directory())),
            Self::Documents => {
                let lists = places.client.as_ref()?.join("tasks");
                Some(DocumentPlace::Lists(lists).path(list))
            }
            Self::Document(path) | Self::Teaching(path) => Some(path.clone()),
            Self::Memory | Self::Remote(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claude => formatter.write_str("claude:"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Documents => formatter.write_str("document:"),
            Self::Document(path) => write!(formatter, "document:{}", path.display()),
            Self::Teaching(path) => write!(formatter, "teaching:{}", path.display()),
            Self::Memory => formatter.write_str("memory:"),
            Self::Remote(address) => address.fmt(formatter),
        }
    }
}

impl RemoteAddress {
    fn parse(scheme: &str, text: &str) -> Result<Self, AddressError> {
        let scheme = scheme.to_owned();
        match without_password(text) {
            Some(shown) => Ok(Self { scheme, with_password: text.to_owned(), shown }),
            None => Err(AddressError::UnclearPassword { scheme }),
        }
    }

    /// Returns what stands before the colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the address with its password, for the opener that connects with it and for nobody else.
    pub fn with_password(&self) -> &str {
        &self.with_password
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RemoteAddress({:?})", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::Address;
    use crate::opening::{Openers, WrittenAddress};

    #[test]
    fn an_address_says_what_it_is_before_the_colon() {
        let openers = Openers::default();
        let parse =
            |address: &str| Address::parse(&WrittenAddress::new(address), Path::new("/projects"), &openers).ok();
        assert_eq!(parse("claude:"), Some(Address::Claude));
        assert_eq!(parse("memory:"), Some(Address::Memory));
        assert_eq!(parse("file:a"), Some(Address::File(PathBuf::from("/projects/a"))));
        assert_eq!(parse("file:/a"), Some(Address::File(PathBuf::from("/a"))));
        assert_eq!(parse("document:"), Some(Address::Documents));
        assert_eq!(parse("document:t.json"), Some(Address::Document(PathBuf::from("/projects/t.json"))));
        assert_eq!(parse("teaching:.tasks"), Some(Address::Teaching(PathBuf::from("/projects/.tasks"))));
        for address in ["", "teaching:", "file", "file:", "claude", "claude:x", "sqlite:x"] {
            assert_eq!(parse(address), None, "{address}");
        }
    }
}
