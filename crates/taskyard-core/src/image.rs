//! A task as it stood on disk.

use std::sync::Arc;

/// The exact bytes of one task file at one moment, whether or not a task can be read from them.
///
/// The journal keeps images, so that undo and restore bring back a file to the letter, its unknown keys, order and
/// spacing included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image(Arc<[u8]>);

impl Image {
    /// Takes the contents of a task file.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
