//! A list in memory, while callers ask it.

use std::fmt;
use std::ops::Deref;

use taskyard_core::Revision;
use taskyard_core::live::LiveList;

/// A list in memory as it is now. While it is held the list stands still, so it is asked and let go.
pub struct LiveView<'a> {
    list: Box<dyn Deref<Target = LiveList> + 'a>,
    revision: Revision,
}

impl<'a> LiveView<'a> {
    /// Shows a list that is at this revision.
    pub fn new(list: impl Deref<Target = LiveList> + 'a, revision: Revision) -> Self {
        Self { list: Box::new(list), revision }
    }

    /// Returns the newest revision it shows.
    pub const fn revision(&self) -> Revision {
        self.revision
    }
}

impl Deref for LiveView<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        &self.list
    }
}

impl fmt::Debug for LiveView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.list.len();
        formatter.debug_struct("LiveView").field("revision", &self.revision).field("tasks", &tasks).finish()
    }
}
