//! Tidying a little, once a day, by the first command that comes by: the file `tidied` in the data directory says when
//! that last was, and where it ended.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::Household;
use crate::store::{Pace, finish_putting_away, list_sidecars, tidy_journal};
use crate::{clock, private};

/// The file.
const FILE: &str = "tidied";
/// How often something is tidied, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// No process of ours writes a longer file.
const LONGEST: u64 = 4 * 1024;

/// When something was last tidied, and the last list of that time.
struct LastTime {
    at: i64,
    list: String,
}

/// Tidies our memory of some lists, for no longer than this, where no process has done so for a day. It begins after the list where the
/// last one ended, waits for no writer, and says nothing of what it could not do. `beforehand` is done first, where it is time.
pub fn tidy_a_little(household: &Household, at_most: Duration, beforehand: impl FnOnce()) -> bool {
    match begin(&household.data) {
        Ok(Some((file, last))) => {
            beforehand();
            let ended = tidy_after(household, &last, &Pace::at_most(at_most));
            let _ = write(&file, &LastTime { at: clock::now().0, list: ended });
            true
        }
        Ok(None) => false,
        Err(error) => {
            tracing::debug!(%error, "nothing is tidied");
            false
        }
    }
}

/// Takes the day's tidying, where it is time for it and no other process has it.
fn begin(data: &Path) -> io::Result<Option<(File, LastTime)>> {
    let path = data.join(FILE);
    let is_new = !path.exists();
    let file = private::open(&path)?;
    let now = clock::now().0;
    if is_new {
        // There is nothing old yet where no process has ever tidied.
        write(&file, &LastTime { at: now, list: String::new() })?;
        return Ok(None);
    }
    let last = read(&file)?;
    // A moment in the future was written by a clock that was wrong.
    if (0..DAY).contains(&now.saturating_sub(last.at))
        || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Ok(None);
    }
    // Before anything is done: the next command does not follow one that dies at it, or is slow.
    write(&file, &LastTime { at: now, list: last.list.clone() })?;
    Ok(Some((file, last)))
}

/// Tidies one list after the other, beginning after one, and returns the last one that was tidied in full.
fn tidy_after(household: &Household, last: &LastTime, pace: &Pace) -> String {
    let mut sidecars = list_sidecars(&household.data);
    let name = |sidecar: &Path| sidecar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let first = sidecars.partition_point(|sidecar| name(sidecar) <= last.list);
    sidecars.rotate_left(first);
    let mut ended = last.list.clone();
    if first == 0 {
        finish_putting_away(&household.data);
    }
    let terms = household.terms(pace.clone());
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

fn read(mut file: &File) -> io::Result<LastTime> {
    let mut text = String::new();
    file.rewind()?;
    file.take(LONGEST).read_to_string(&mut text)?;
    let (at, list) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
    Ok(LastTime { at: at.parse().unwrap_or(0), list: list.to_owned() })
}

fn write(mut file: &File, last: &LastTime) -> io::Result<()> {
    file.rewind()?;
    let text = format!("{} {}\n", last.at, last.list);
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}
