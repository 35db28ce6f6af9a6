//! The stores of other crates.

use std::fmt;
use std::sync::Arc;

use super::{OpenError, Opened, Places, RemoteAddress};

/// Opens the stores of one crate.
///
/// It connects to nothing before something is asked of what it opened. It alone sees the password of an address, and nothing it
/// tells or keeps holds that: neither an error nor a log. Children of this process open the same address without a password; how they
/// come by one, from a file say, is for the opener to know.
pub trait Opener: fmt::Debug + Send + Sync {
    /// Opens everything that lives at an address.
    fn open(&self, address: &RemoteAddress, places: &Places) -> Result<Opened, OpenError>;

    /// Tells whether children of this process, who get the address without its password, can open it: it has none, or they find the same
    /// one in a file.
    fn lets_children_in(&self, address: &RemoteAddress) -> Result<bool, OpenError> {
        Ok(address.to_string() == address.with_password())
    }
}

/// The stores of other crates, by what stands before the colon of their addresses.
#[derive(Clone, Debug, Default)]
pub struct Openers(Vec<(&'static str, Arc<dyn Opener>)>);

impl Openers {
    /// Adds what opens the addresses of a scheme.
    #[must_use]
    pub fn with(mut self, scheme: &'static str, opener: Arc<dyn Opener>) -> Self {
        self.0.push((scheme, opener));
        self
    }

    /// Returns the schemes, in the order in which they were added.
    pub(crate) fn schemes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(scheme, _)| *scheme)
    }

    pub(super) fn find(&self, scheme: &str) -> Option<&dyn Opener> {
        self.0.iter().find(|(known, _)| *known == scheme).map(|(_, opener)| &**opener)
    }
}
