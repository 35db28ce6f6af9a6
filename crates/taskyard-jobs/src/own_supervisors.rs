//! The supervisors that this process started.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

/// Takes notice of the supervisors of ours that have ended, so that the system forgets them; keeps another one for later. Those
/// that outlive us are the system's.
pub(crate) fn take_notice_of_ends(another: Option<Child>) {
    static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    children.extend(another);
}
