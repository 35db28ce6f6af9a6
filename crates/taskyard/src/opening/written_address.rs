//! The address of a store as a user wrote it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::secrets::shown;

/// The address of a store as a user wrote it in a flag, a variable or a file. It may hold a password, and is shown without.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct WrittenAddress(String);

impl WrittenAddress {
    /// Returns an address that was written so.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the address with what is secret in it.
    pub(crate) fn as_written(&self) -> &str {
        &self.0
    }

    /// Tells whether something in it is not shown.
    pub fn holds_secrets(&self) -> bool {
        self.to_string() != self.0
    }
}

impl FromStr for WrittenAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl fmt::Display for WrittenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for WrittenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", shown(&self.0))
    }
}
