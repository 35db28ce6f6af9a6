//! How long a task was in progress, by what the journal says.

use std::time::Duration;

use crate::{Entry, Status, Timestamp};

/// Returns how long a task was in progress, given all that the journal has of it, the oldest first. What is in progress still counts up to
/// the present moment.
pub fn time_in_progress(entries: &[Entry], now: Timestamp) -> Duration {
    let mut spent = Duration::ZERO;
    let mut since: Option<Timestamp> = None;
    let span = |from: Timestamp, to: Timestamp| Duration::from_millis(u64::try_from(to.0 - from.0).unwrap_or(0));
    for entry in entries {
        let image = entry.after.as_ref();
        let is_in_progress =
            image.and_then(|image| image.task(&entry.task).ok()).is_some_and(|task| task.status == Status::InProgress);
        match (since, is_in_progress) {
            (None, true) => since = Some(entry.at),
            (Some(from), false) => {
                spent += span(from, entry.at);
                since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    since.map_or(spent, |from| spent + span(from, now))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::time_in_progress;
    use crate::dialect::native;
    use crate::rules::samples::{entry, id};
    use crate::{Entry, Rules, Status, Task, Timestamp};

    fn at(moment: u64, status: Option<Status>) -> Entry {
        let image = |status| native::write(None, &Task { status, ..Task::new(id(1), "x") }, Rules::Strict).ok();
        entry(moment, 1, None, status.and_then(image))
    }

    #[test]
    fn every_stretch_in_progress_counts_and_the_last_one_up_to_now() {
        use Status::{Completed, InProgress, Pending};
        let journal = [
            at(10, Some(Pending)),
            at(20, Some(InProgress)),
            at(30, Some(InProgress)),
            at(50, Some(Pending)),
            at(60, Some(InProgress)),
            at(65, None),
            at(70, Some(InProgress)),
        ];
        assert_eq!(time_in_progress(&journal, Timestamp(100)), Duration::from_millis(30 + 5 + 30));
        assert_eq!(time_in_progress(&journal[..4], Timestamp(100)), Duration::from_millis(30));
        assert_eq!(time_in_progress(&[at(1, Some(Completed))], Timestamp(100)), Duration::ZERO);
    }
}
