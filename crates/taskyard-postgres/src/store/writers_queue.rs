//! Those threads of one process that want to write to one list.

use std::sync::{Condvar, Mutex};

/// The callers that want to write to a list.
#[derive(Debug, Default)]
pub(super) struct WritersQueue {
    pub(super) is_taken: Mutex<bool>,
    pub(super) free: Condvar,
}
