//! Tidying a little, once a day, by the first command that comes by: the file `tidied` in the data directory says when
//! that last was, and where it ended.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use taskyard_core::rules::history::elapsed::{ClockDoubt, Reading};

use super::Household;
use super::time_count::{CountFile, LastTime};
use crate::store::{Pace, TimeCount, finish_putting_away, list_sidecars, tidy_journal};
use crate::{clock, private};

/// How often something is tidied, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The day's tidying, while no other process has it.
#[derive(Debug)]
pub struct DailyTidying<'a> {
    household: &'a Household,
    file: File,
    last: LastTime,
    count: TimeCount,
    is_new_doubt: bool,
}

impl<'a> DailyTidying<'a> {
    /// Takes the day's tidying, where no process has done it for a day and none is at it.
    pub fn begin(household: &'a Household) -> Option<Self> {
        begin(household).unwrap_or_else(|error| {
            tracing::debug!(%error, "nothing is tidied");
            None
        })
    }

    /// Returns why nothing will be tidied: the clock has moved by more than a month, or back. Only the first time after it did.
    pub fn new_doubt(&self) -> Option<ClockDoubt> {
        self.count.elapsed.in_doubt().filter(|_| self.is_new_doubt)
    }

    /// Tidies our memory of some lists, for no longer than this. It begins after the list where the last one ended, waits for no writer,
    /// and says nothing of what it could not do. While the clock is in doubt it does nothing.
    pub fn run(self, at_most: Duration) {
        if self.count.is_doubted() {
            return;
        }
        let ended = tidy_after(self.household, &self.last, &self.count, &Pace::at_most(at_most));
        let _ = LastTime { at: clock::now().0, list: ended }.write(&self.file);
    }
}

fn begin(household: &Household) -> io::Result<Option<DailyTidying<'_>>> {
    let path = LastTime::path(&household.data);
    let is_new = !path.exists();
    let file = private::open(&path)?;
    let now = clock::now().0;
    if is_new {
        // There is nothing old yet where no process has ever tidied.
        LastTime { at: now, list: String::new() }.write(&file)?;
        CountFile::try_open(&household.data)?.map(CountFile::count).transpose()?;
        return Ok(None);
    }
    let last = LastTime::read(&file)?;
    // A moment in the future was written by a clock that was wrong.
    if (0..DAY).contains(&now.saturating_sub(last.at))
        || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Ok(None);
    }
    let Some(counted) = CountFile::try_open(&household.data)? else { return Ok(None) };
    let (count, reading) = counted.count()?;
    // Before anything is done: the next command does not follow one that dies at it, or is slow.
    LastTime { at: now, list: last.list.clone() }.write(&file)?;
    let is_new_doubt = reading == Reading::Doubted { is_new: true };
    Ok(Some(DailyTidying { household, file, last, count, is_new_doubt }))
}

/// Tidies one list after the other, beginning after one, and returns the last one that was tidied in full.
fn tidy_after(household: &Household, last: &LastTime, count: &TimeCount, pace: &Pace) -> String {
    let mut sidecars = list_sidecars(&household.data);
    let name = |sidecar: &Path| sidecar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let first = sidecars.partition_point(|sidecar| name(sidecar) <= last.list);
    sidecars.rotate_left(first);
    let mut ended = last.list.clone();
    if first == 0 {
        finish_putting_away(&household.data);
    }
    let terms = household.terms(count, pace.clone());
    for sidecar in sidecars {
        if pace.is_over() {
            break;
        }
        if let Err(error) = tidy_journal(&sidecar, &terms) {
            tracing::debug!(%error, "a journal is not tidied");
        }
        ended = name(&sidecar);
    }
    ended
}
