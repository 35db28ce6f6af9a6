//! Which tasks a listing shows.

use crate::Status;

/// Which tasks are wanted; everything visible where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only tasks in one of these states; any state where there are none.
    pub statuses: Vec<Status>,
    /// Only tasks of this owner.
    pub owner: Option<String>,
    /// Only tasks that can start now: pending, nobody's, nothing open before them.
    pub ready: bool,
    /// Only open tasks that wait for others.
    pub blocked: bool,
    /// Only tasks with this tag.
    pub tag: Option<String>,
    /// Internal tasks too.
    pub internal: bool,
}
