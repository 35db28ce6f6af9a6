//! Which store an address means, given the stores of other crates.

use std::path::Path;

use super::address::{Address, RemoteAddress};
use super::error::{AddressError, OpenError};
use super::openers::Openers;
use super::secrets::{LOCAL, scheme_of};
use super::written_address::WrittenAddress;

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
                None => {
                    Err(AddressError::Unknown { address: written.to_string(), schemes: openers.schemes().collect() })
                }
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
