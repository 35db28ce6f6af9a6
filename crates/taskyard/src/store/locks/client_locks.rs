//! The client's locks that a turn has taken.

use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

use super::fingerprint::Look;
use super::lock::Lock;
use super::turn_record::HeldName;

/// How long the client's locks are waited for within a turn; then the turn is given back first.
pub(in crate::store) const PATIENCE_IN_TURN: Duration = Duration::from_millis(600);

/// The client's locks that a turn has taken.
#[derive(Debug)]
pub(in crate::store) struct ClientLocks {
    /// How long we wait for rivals.
    pub(in crate::store) patience: Duration,
    /// Whether the list's lock is kept until everything is written out: the decision hangs on the whole list.
    pub(in crate::store) keeps_list: bool,
    /// A rival's lock on the list that we waited for in vain, and do not wait for again.
    pub(in crate::store) passed_by: Option<Look>,
    pub(in crate::store) list: Option<Arc<Lock>>,
    pub(in crate::store) tasks: Vec<Arc<Lock>>,
    /// When the list's lock was taken.
    pub(in crate::store) since: i64,
}

impl Default for ClientLocks {
    fn default() -> Self {
        Self { patience: PATIENCE_IN_TURN, keeps_list: false, passed_by: None, list: None, tasks: Vec::new(), since: 0 }
    }
}

impl ClientLocks {
    /// Tells whether every lock is still the one we made.
    pub(in crate::store) fn are_ours(&self) -> bool {
        self.all().all(|lock| lock.is_ours())
    }

    /// Tells the same of the list's lock and that of one task.
    pub(in crate::store) fn are_ours_with(&self, lock_of_task: &CStr) -> bool {
        let of_task = self.tasks.iter().find(|lock| lock.name() == lock_of_task);
        self.list.iter().chain(of_task).all(|lock| lock.is_ours())
    }

    /// Tells whether the list's lock is among them.
    pub(in crate::store) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Lock>> {
        self.list.iter().chain(&self.tasks)
    }

    pub(in crate::store) fn held(&self) -> Vec<HeldName> {
        let held = |lock: &Arc<Lock>| HeldName {
            name: lock.name().to_string_lossy().into_owned(),
            inode: lock.inode,
            born: lock.born,
        };
        self.all().map(held).collect()
    }
}
