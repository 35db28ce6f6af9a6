//! How many tasks there were, and how many of them were done.

use super::list_past::{LifeState, ListPast};
use crate::Timestamp;

/// How many tasks there were over a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurnUp {
    /// The counts at moments that lie equally far apart, the first and the last of the time among them.
    pub(crate) points: Vec<BurnUpPoint>,
}

/// How many tasks there were at a moment. Those that were cancelled do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BurnUpPoint {
    /// The moment.
    pub(crate) at: Timestamp,
    /// How many were done.
    pub(crate) done: usize,
    /// How many were in progress.
    pub(crate) in_progress: usize,
    /// How many there were in all.
    pub(crate) total: usize,
}

/// Counts the tasks of a list at so many moments of a time.
pub fn burn_up(past: &ListPast, from: Timestamp, until: Timestamp, moments: usize) -> BurnUp {
    let (count, span) = (moments.max(2), until.0.saturating_sub(from.0).max(0));
    let moment = |number: usize| {
        let (number, last) = (i128::try_from(number).unwrap_or(0), i128::try_from(count - 1).unwrap_or(1));
        Timestamp(from.0.saturating_add(i64::try_from(i128::from(span) * number / last).unwrap_or(0)))
    };
    let mut points: Vec<BurnUpPoint> =
        (0..count).map(|number| BurnUpPoint { at: moment(number), ..BurnUpPoint::default() }).collect();
    // What a stretch changes at its first moment and behind its last, so that each stretch is looked at once.
    let mut changes = vec![[0_isize; 3]; count + 1];
    for (_, stretches) in past.tasks() {
        for stretch in stretches {
            let counts = match stretch.state {
                LifeState::Pending => [0, 0, 1],
                LifeState::InProgress => [0, 1, 1],
                LifeState::Completed => [1, 0, 1],
                LifeState::Cancelled => continue,
            };
            let first = stretch.from.map_or(0, |from| points.partition_point(|point| point.at < from));
            let behind = stretch.until.map_or(count, |until| points.partition_point(|point| point.at < until));
            for kind in (0..3).filter(|_| first < behind) {
                changes[first][kind] += counts[kind];
                changes[behind][kind] -= counts[kind];
            }
        }
    }
    let mut sums = [0_isize; 3];
    for (point, change) in points.iter_mut().zip(&changes) {
        (0..3).for_each(|kind| sums[kind] += change[kind]);
        let [done, in_progress, total] = sums.map(|sum| usize::try_from(sum).unwrap_or(0));
        *point = BurnUpPoint { done, in_progress, total, ..*point };
    }
    BurnUp { points }
}

#[cfg(test)]
mod tests {
    use super::super::list_past::tests::past;
    use super::burn_up;
    use crate::Timestamp;

    #[test]
    fn every_moment_counts_what_there_was() {
        let past = past(&[(0, 1, "p"), (10, 2, "p"), (20, 1, "i ana"), (30, 1, "c ana"), (35, 2, "")]);
        let counts = |until: i64, moments: usize| -> Vec<[usize; 3]> {
            let points = burn_up(&past, Timestamp(0), Timestamp(until), moments).points;
            points.iter().map(|point| [point.done, point.in_progress, point.total]).collect()
        };
        assert_eq!(counts(40, 5), [[0, 0, 1], [0, 0, 2], [0, 1, 2], [1, 0, 2], [1, 0, 1]]);
        assert_eq!(counts(40, 2), [[0, 0, 1], [1, 0, 1]]);
        assert_eq!(counts(0, 3), [[0, 0, 1]; 3], "a time without length is a moment");
        assert_eq!(burn_up(&past, Timestamp(0), Timestamp(40), 3).points[1].at, Timestamp(20));
    }
}
