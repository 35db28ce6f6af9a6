//! What is done about databases that a newer Taskyard wrote.

use std::cell::{Cell, RefCell};

/// What is done about databases that a newer Taskyard wrote.
#[derive(Debug, Default)]
pub(super) struct NewerDatabases {
    /// Whether the command does without them.
    pub(super) are_done_without: Cell<bool>,
    /// What is to be told of those that it did without.
    pub(super) met: RefCell<Vec<String>>,
}
