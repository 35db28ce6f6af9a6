//! What earlier sessions of the client left.

use std::path::Path;

use taskyard_core::{ListId, Task, Timestamp};

use crate::{Error, Yard};

/// A list that an earlier session of the client left, with tasks still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    /// The session.
    pub session: String,
    /// Its list.
    pub list: ListId,
    /// The open tasks in it.
    pub open: Vec<Task>,
    /// When the session was last used.
    pub last_used: Option<Timestamp>,
}

impl Yard {
    /// Returns the lists with open tasks that sessions of the client in this directory left, the last used first.
    pub fn left_by_sessions(&self, _config_dir: &Path, _directory: &Path) -> Result<Vec<SessionList>, Error> {
        todo!()
    }
}
