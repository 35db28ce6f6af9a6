//! What stands behind `-` where a text or a file may be given.

use std::io::{self, Read};

/// What `-` stands for.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// What comes on stdin.
    Stdin,
    /// What came with a request.
    Given(Vec<u8>),
    /// Nothing: it is a text like any other.
    Nothing,
}

impl Input {
    /// Returns what reads it; none where `-` is a text like any other.
    pub(super) fn reader(&self) -> Option<Box<dyn Read + '_>> {
        match self {
            Self::Stdin => Some(Box::new(io::stdin().lock())),
            Self::Given(bytes) => Some(Box::new(bytes.as_slice())),
            Self::Nothing => None,
        }
    }
}
