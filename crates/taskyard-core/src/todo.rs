//! An item of an agent's todo list.

use crate::Status;

/// One item of an agent's todo list. It has no name of its own: the list is always replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What there is to do.
    pub content: String,
    /// Where in its life it is.
    pub status: Status,
    /// What is being done, while it is being done.
    pub active_form: String,
}
