//! A password.

use std::fmt;

/// A password. It shows itself in no output.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Takes a password.
    pub(crate) fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// Returns it, for the server alone.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}
