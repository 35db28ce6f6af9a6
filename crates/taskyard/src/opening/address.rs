//! The address of a store.

use std::fmt;
use std::path::PathBuf;

use taskyard_core::ListId;

use super::secrets::without_password;
use super::{AddressError, Places};
use crate::store::DocumentPaths;

/// The address of a store. It is shown without its password, always.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Returns the directory that holds the lists, where there is one for all of them.
    pub(crate) fn tasks_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude => Some(places.client.as_ref()?.join("tasks")),
            Self::File(root) => Some(root.join("tasks")),
            Self::Documents | Self::Document(_) | Self::Teaching(_) | Self::Memory | Self::Remote(_) => None,
        }
    }

    /// Returns the directory that holds the teams which work on the lists: beside those, else the client's own; none where teams are kept
    /// elsewhere.
    pub(crate) fn teams_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::File(root) => Some(root.join("teams")),
            Self::Memory | Self::Remote(_) => None,
            _ => Some(places.client.as_ref()?.join("teams")),
        }
    }

    /// Tells whether the address holds a password.
    pub fn has_password(&self) -> bool {
        matches!(self, Self::Remote(address) if address.shown != address.with_password)
    }

    /// Returns where a list of the store lies, a directory or a file; none where that is no path of this machine.
    pub fn path_of_list(&self, list: &ListId, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude | Self::File(_) => Some(self.tasks_directory(places)?.join(list.directory())),
            Self::Documents => {
                let lists = places.client.as_ref()?.join("tasks");
                Some(DocumentPaths::Lists(lists).path(list))
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
    /// Reads an address of this scheme.
    pub(super) fn parse(scheme: &str, text: &str) -> Result<Self, AddressError> {
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

    /// Returns the address with its password, for the opener that connects with it and for no other caller.
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
