//! After a task was taken: a program that read its file before that, and knows no lock, writes its own claim a moment
//! later and never looks again. So we look again, and it is theirs.
//!
//! Such a program opens the file and writes to it. Where it opened the file that we replaced, its claim stands in a
//! file that has no name any more: it is brought back. Where it opened ours, its claim stands there, and the next
//! reader sees it. A program that takes longer than [`MOMENT`] between reading and writing cannot be waited for.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::teaching;
use taskyard_core::{Status, Task, TaskId};

use super::replacing::{Replaced, contents, put, read};
use crate::store::StoreError;

/// How long rivals may take between their look at a file and their writing to it.
const MOMENT: Duration = Duration::from_millis(50);
/// How often we look at least: where the machine is so busy that we get to it seldom, so do they.
const LOOKS: u32 = 40;
/// How long we wait at most, also for a rival to finish what is half written.
const LONGEST: Duration = Duration::from_millis(250);
/// How often we look.
const STEP: Duration = Duration::from_millis(1);

/// Tells whether a change takes a task that had no owner.
pub(super) fn is_taken(id: &TaskId, before: &[u8], after: &[u8]) -> bool {
    let task = |bytes: &[u8]| teaching::read(id, bytes, None, &[]).ok();
    let is_free = |task: &Task| task.status == Status::Pending && task.owner().is_none();
    matches!((task(before), task(after)), (Some(before), Some(after)) if is_free(&before) && !is_free(&after))
}

/// Waits for rivals that looked at these tasks before they were taken, and lets their writing count.
pub(super) fn yield_to_rivals(folder: &Path, taken: &[Replaced]) -> Result<(), StoreError> {
    if taken.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    for looks in 1.. {
        let mut is_torn = false;
        for replaced in taken {
            is_torn |= bring_back(folder, replaced)?;
        }
        let waited = started.elapsed();
        if waited >= LONGEST || (waited >= MOMENT && looks >= LOOKS && !is_torn) {
            break;
        }
        thread::sleep(STEP);
    }
    Ok(())
}

/// Brings back what a rival wrote to the file that was replaced. Returns whether it is not done yet.
fn bring_back(folder: &Path, replaced: &Replaced) -> Result<bool, StoreError> {
    let path = folder.join(&replaced.name);
    let theirs = contents(&replaced.old).map_err(StoreError::io("cannot read", &path))?;
    if theirs == replaced.before {
        return Ok(false);
    }
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&theirs).is_ok();
    // What stands there by now may be newer than both.
    if is_whole && read(&path)?.as_deref() == Some(&replaced.ours) {
        tracing::info!(file = replaced.name, "a rival took the task at the same moment");
        put(folder, &replaced.name, &theirs)?;
    }
    Ok(!is_whole)
}
