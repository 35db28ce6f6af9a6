//! How old history is, in time that passed while it existed.
//!
//! Clocks are set, and start anywhere after a flat battery. So one reading of the wall clock makes nothing old: readings are counted
//! together, and a step of more than a month between two of them counts for nothing until someone confirms it. The times written in
//! entries are not believed either: an entry is as old as the first count at which its revision was there.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{Revision, Timestamp};

const DAY: i64 = 24 * 60 * 60 * 1000;
/// The longest step between two readings that counts, in milliseconds: a month.
const LONGEST_STEP: i64 = 31 * DAY;
/// The records of a list divide the time for which entries are kept into this many parts.
const RECORDS: i64 = 64;

/// Time, counted by readings of the wall clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// How many milliseconds have passed since counting began.
    pub counted: i64,
    /// The last reading that counted.
    pub wall: Timestamp,
    /// The reading up to which earlier times are not comparable with later ones, because the clock was set in between.
    pub comparable_since: Timestamp,
    /// The readings since then that do not count.
    pub doubt: Option<Doubt>,
}

/// Readings that do not count, because the clock had moved by more than a month, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
}

/// What comes of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It counts.
    Counted,
    /// It does not count.
    Doubted {
        /// Whether the reading before it did, or was doubted for another reason.
        is_new: bool,
    },
}

impl Elapsed {
    /// Begins to count at a reading.
    pub const fn starting(wall: Timestamp) -> Self {
        Self { counted: 0, wall, comparable_since: Timestamp(i64::MIN), doubt: None }
    }

    /// Takes a reading. A step forward of at most a month counts, and a step back of less than a day does no harm. Any other is doubted.
    /// A clock that has gone on for a month since it was first doubted is believed from then on; the jump itself never counts.
    pub fn read(&mut self, now: Timestamp) -> Reading {
        if is_plausible(self.wall, now) {
            self.counted += (now.0 - self.wall.0).max(0);
            self.wall = self.wall.max(now);
            self.doubt = None;
            return Reading::Counted;
        }
        match &mut self.doubt {
            Some(doubt) if (0..=LONGEST_STEP).contains(&now.0.saturating_sub(doubt.last.0)) => {
                doubt.last = now;
                let comparable_since = doubt.first;
                let since = now.0.saturating_sub(comparable_since.0);
                if since < LONGEST_STEP {
                    return Reading::Doubted { is_new: false };
                }
                *self = Self { counted: self.counted.saturating_add(since), comparable_since, ..Self::starting(now) };
                Reading::Counted
            }
            doubt => {
                *doubt = Some(Doubt { first: now, last: now });
                Reading::Doubted { is_new: true }
            }
        }
    }

    /// Takes a reading that someone vouches for: all the time since the last one that counted has passed.
    pub fn confirm(&mut self, now: Timestamp) {
        self.counted = self.counted.saturating_add(now.0.saturating_sub(self.wall.0).max(0));
        self.wall = now;
        self.comparable_since = self.comparable_since.min(now);
        self.doubt = None;
    }

    /// Returns what is in doubt.
    pub fn in_doubt(&self) -> Option<ClockDoubt> {
        self.doubt.map(|doubt| ClockDoubt { last: self.wall, now: doubt.last })
    }

    /// Returns the moment before which something that tells its own time is older than `keep`.
    pub fn old_before(&self, keep: Duration) -> Timestamp {
        let before = Timestamp(self.wall.0.saturating_sub(milliseconds(keep)));
        if before <= self.comparable_since { Timestamp(i64::MIN) } else { before }
    }
}

/// A clock that has moved by more than a month since it was last believed, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDoubt {
    /// The last reading that was believed, or the newest entry.
    pub last: Timestamp,
    /// What the clock says now.
    pub now: Timestamp,
}

impl fmt::Display for ClockDoubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { last, now } = self;
        match now < last {
            true => write!(formatter, "the clock says {now}, which is before the last time known, {last}"),
            false => write!(formatter, "the clock says {now}, more than a month after the last time known, {last}"),
        }
    }
}

/// How far a clock is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockTrust {
    /// As far as its steps are plausible.
    Plausible,
    /// Someone vouches for it: all the time that it says has passed.
    Vouched,
}

/// How far a list went at some counts of the time that has passed, both rising.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages(Vec<(i64, Revision)>);

impl Ages {
    /// Judges a list that has no records yet by the times of its entries, oldest first, and now.
    pub fn by_times(times: &[(Revision, Timestamp)], now: &Elapsed, keep: Duration, trust: ClockTrust) -> Self {
        let mut walk = WalkBack { at: now.wall };
        let mut counted = now.counted;
        let mut ages: Vec<(i64, Revision)> = Vec::new();
        for (revision, at) in times.iter().rev() {
            counted -= walk.step_to(*at, trust);
            match ages.last() {
                // Of several in one part of the time the newest one counts, and the others are as young.
                Some((last, _)) if *last - counted < grain(keep) => {}
                _ => ages.push((counted, *revision)),
            }
        }
        ages.reverse();
        Self(ages)
    }

    /// Records how far the list goes now, unless that was recorded a moment ago; tells whether anything changed.
    pub fn note(&mut self, counted: i64, newest: Revision, keep: Duration) -> bool {
        let before = self.0.len();
        // Of what is old enough only the newest record says anything.
        let old = self.0.partition_point(|(record, _)| counted.saturating_sub(*record) >= milliseconds(keep));
        self.0.drain(..old.saturating_sub(1));
        let is_due = self
            .0
            .last()
            .is_none_or(|(record, revision)| *revision < newest && counted.saturating_sub(*record) >= grain(keep));
        if is_due {
            self.0.push((counted, newest));
        }
        is_due || self.0.len() != before
    }

    /// Returns the last revision that has existed for `keep`; 0 if none has.
    pub fn older_than(&self, counted: i64, keep: Duration) -> Revision {
        let is_old = |(record, _): &&(i64, Revision)| counted.saturating_sub(*record) >= milliseconds(keep);
        self.0.iter().rev().find(is_old).map_or(Revision(0), |(_, revision)| *revision)
    }
}

impl fmt::Display for Ages {
    /// Writes `COUNTED:REVISION`, divided by spaces.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: Vec<String> =
            self.0.iter().map(|(counted, revision)| format!("{counted}:{}", revision.0)).collect();
        formatter.write_str(&records.join(" "))
    }
}

/// The text is not one that [`Ages`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAges;

impl FromStr for Ages {
    type Err = NotAges;

    fn from_str(text: &str) -> Result<Self, NotAges> {
        let record = |record: &str| {
            let (counted, revision) = record.split_once(':')?;
            Some((counted.parse().ok()?, Revision(revision.parse().ok()?)))
        };
        let records: Option<Vec<(i64, Revision)>> = text.split_whitespace().map(record).collect();
        let records = records.ok_or(NotAges)?;
        let is_rising = records.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        is_rising.then_some(Self(records)).ok_or(NotAges)
    }
}

/// Returns the moment before which everything is older than `keep`, given the moments at which something happened, newest first; `None`
/// if less time has passed. Who vouches for the clock vouches for the last step, up to now.
pub fn old_before(now: Timestamp, keep: Duration, happened: &[Timestamp], trust: ClockTrust) -> Option<Timestamp> {
    let (mut walk, mut left) = (WalkBack { at: now }, milliseconds(keep));
    for (place, at) in happened.iter().enumerate() {
        let later = walk.at;
        let step = walk.step_to(*at, if place == 0 { trust } else { ClockTrust::Plausible });
        if step >= left {
            return Some(Timestamp(later.0.saturating_sub(left)));
        }
        left -= step;
    }
    (left == 0).then_some(walk.at)
}

/// Tells whether a clock can be believed that says `now` if something happened at `last`: not behind it, and at most a month after it.
pub fn is_plausible(last: Timestamp, now: Timestamp) -> bool {
    let step = now.0.saturating_sub(last.0);
    step > -DAY && step <= LONGEST_STEP
}

/// Counts the time that passed between moments, from each to an earlier one.
struct WalkBack {
    at: Timestamp,
}

impl WalkBack {
    /// Goes to the moment before; returns how much time counts.
    fn step_to(&mut self, at: Timestamp, trust: ClockTrust) -> i64 {
        let step = self.at.0.saturating_sub(at.0);
        if (-LONGEST_STEP..=0).contains(&step) {
            // The clock was ahead for a while: what is counted up to here is not counted twice.
            return 0;
        }
        self.at = at;
        if step > 0 && (trust == ClockTrust::Vouched || step <= LONGEST_STEP) { step } else { 0 }
    }
}

fn grain(keep: Duration) -> i64 {
    milliseconds(keep) / RECORDS
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ClockTrust::{Plausible, Vouched};
    use super::{Ages, ClockTrust, DAY, Doubt, Elapsed, Reading, is_plausible, old_before};
    use crate::{Revision, Timestamp};

    const YEAR: Duration = Duration::from_secs(365 * 86_400);

    fn day(number: i64) -> Timestamp {
        Timestamp(number * DAY)
    }

    fn days(keep: u64) -> Duration {
        Duration::from_secs(keep * 86_400)
    }

    #[test]
    fn steps_of_up_to_a_month_count() {
        let mut elapsed = Elapsed::starting(day(0));
        for number in [1, 2, 33, 62] {
            assert_eq!(elapsed.read(day(number)), Reading::Counted, "{number}");
        }
        // A clock that is set back by less than a day goes on from where it was.
        assert_eq!(elapsed.read(Timestamp(62 * DAY - 1)), Reading::Counted);
        assert_eq!(elapsed, Elapsed { counted: 62 * DAY, ..Elapsed::starting(day(62)) });
    }

    #[test]
    fn a_jump_counts_for_nothing_and_is_told_once() {
        for jump in [day(800), day(-800)] {
            let mut elapsed = Elapsed::starting(day(0));
            assert_eq!(elapsed.read(jump), Reading::Doubted { is_new: true });
            assert_eq!(elapsed.read(Timestamp(jump.0 + DAY)), Reading::Doubted { is_new: false });
            assert_eq!(elapsed.counted, 0);
            // Set right, it goes on as if nothing had been.
            assert_eq!(elapsed.read(day(2)), Reading::Counted);
            assert_eq!(elapsed, Elapsed { counted: 2 * DAY, ..Elapsed::starting(day(2)) });
        }
    }

    #[test]
    fn a_clock_that_goes_on_for_a_month_is_believed() {
        let mut elapsed = Elapsed::starting(day(0));
        for number in 0..31 {
            assert_eq!(elapsed.read(day(2_000 + number)), Reading::Doubted { is_new: number == 0 });
        }
        assert_eq!(elapsed.read(day(2_031)), Reading::Counted);
        assert_eq!((elapsed.counted, elapsed.doubt), (31 * DAY, None));
        // What is dated before that is no older than the clock that is believed.
        assert_eq!(elapsed.old_before(days(7)), day(2_024));
        assert_eq!(elapsed.old_before(days(31)), Timestamp(i64::MIN));
        elapsed.read(day(2_059));
        assert_eq!(elapsed.old_before(days(58)), day(2_001));
    }

    #[test]
    fn a_clock_that_jumps_again_is_doubted_anew() {
        let mut elapsed = Elapsed::starting(day(0));
        elapsed.read(day(2_000));
        elapsed.read(day(2_020));
        assert_eq!(elapsed.read(day(4_000)), Reading::Doubted { is_new: true });
        assert_eq!(elapsed.doubt, Some(Doubt { first: day(4_000), last: day(4_000) }));
    }

    #[test]
    fn a_jump_that_is_confirmed_counts() {
        let mut elapsed = Elapsed::starting(day(0));
        elapsed.read(day(800));
        elapsed.confirm(day(800));
        assert_eq!(elapsed, Elapsed { counted: 800 * DAY, ..Elapsed::starting(day(800)) });
        elapsed.confirm(day(10));
        assert_eq!((elapsed.counted, elapsed.wall), (800 * DAY, day(10)));
    }

    #[test]
    fn a_revision_is_as_old_as_the_first_count_it_was_there_at() {
        let mut ages = Ages::default();
        assert!(ages.note(0, Revision(4), YEAR));
        assert!(!ages.note(DAY, Revision(9), YEAR), "not every day");
        assert!(ages.note(30 * DAY, Revision(9), YEAR));
        assert!(!ages.note(60 * DAY, Revision(9), YEAR), "nothing new");
        assert_eq!(ages.older_than(364 * DAY, YEAR), Revision(0));
        assert_eq!(ages.older_than(365 * DAY, YEAR), Revision(4));
        assert_eq!(ages.older_than(395 * DAY, YEAR), Revision(9));
        assert!(ages.note(400 * DAY, Revision(9), YEAR), "a record that says nothing any more goes");
        assert_eq!(ages.to_string(), format!("{}:9", 30 * DAY));
        assert_eq!(ages.to_string().parse(), Ok(ages));
    }

    #[test]
    fn records_are_few() {
        let mut ages = Ages::default();
        for number in 0..2_000 {
            ages.note(number * DAY, Revision(number.unsigned_abs()), YEAR);
        }
        assert!(ages.0.len() <= 66, "{}", ages.0.len());
        assert!(ages.older_than(2_000 * DAY, YEAR).0 > 1_620);
        let times: Vec<(Revision, Timestamp)> =
            (0..2_000_i64).map(|number| (Revision(number.unsigned_abs() + 1), day(number))).collect();
        let by_times = Ages::by_times(&times, &Elapsed::starting(day(2_000)), YEAR, Plausible);
        assert!(by_times.0.len() <= 2_000 / 5, "{}", by_times.0.len());
        assert!((1_620..=1_636).contains(&by_times.older_than(0, YEAR).0), "{:?}", by_times.older_than(0, YEAR));
    }

    #[test]
    fn without_a_time_to_keep_all_that_is_recorded_is_old() {
        let mut ages = Ages::default();
        assert!(ages.note(5, Revision(1), Duration::ZERO) && ages.note(5, Revision(2), Duration::ZERO));
        assert_eq!(ages.older_than(5, Duration::ZERO), Revision(2));
    }

    #[test]
    fn times_from_before_the_count_are_believed_step_by_step() {
        let now = Elapsed { counted: 3 * DAY, ..Elapsed::starting(day(1_000)) };
        let ages = |times: &[i64], trust: ClockTrust| {
            let times: Vec<(Revision, Timestamp)> =
                times.iter().zip(1..).map(|(number, revision)| (Revision(revision), day(*number))).collect();
            Ages::by_times(&times, &now, YEAR, trust)
        };
        let old = |ages: &Ages| ages.older_than(now.counted, days(50)).0;
        assert_eq!(old(&ages(&[920, 940, 960, 980], Plausible)), 2);
        // The clock was wrong for the first two, or for the third, or is wrong now, or nothing happened for long.
        assert_eq!(old(&ages(&[100, 110, 990, 999], Plausible)), 0);
        assert_eq!(old(&ages(&[980, 990, 100, 999], Plausible)), 0);
        assert_eq!(old(&ages(&[2_000, 2_010], Plausible)), 0);
        assert_eq!(old(&ages(&[100, 110], Plausible)), 0);
        assert_eq!(old(&ages(&[100, 110], Vouched)), 2);
        // A clock that is ahead now and then counts no day twice.
        assert_eq!(old(&ages(&[980, 999, 981, 998, 982, 997, 983], Plausible)), 0);
    }

    #[test]
    fn what_happened_elsewhere_shows_that_time_has_passed() {
        let happened: Vec<Timestamp> = (0..40).rev().map(|month| day(month * 25)).collect();
        assert_eq!(old_before(day(980), YEAR, &happened, Plausible), Some(day(615)));
        let quiet = [day(970), day(960), day(300), day(280)];
        assert_eq!(old_before(day(980), YEAR, &quiet, Plausible), None);
        assert_eq!(old_before(day(980), days(15), &quiet, Plausible), Some(day(965)));
        assert_eq!(old_before(day(980), days(30), &quiet, Plausible), Some(day(290)));
        assert_eq!(old_before(day(2_000), YEAR, &quiet, Vouched), Some(day(1_635)));
        assert_eq!(old_before(day(980), Duration::ZERO, &[], Plausible), Some(day(980)));
        assert!(is_plausible(day(1), day(32)) && !is_plausible(day(1), day(33)) && !is_plausible(day(2), day(1)));
    }

    #[test]
    fn what_is_no_record_is_not_read() {
        for text in ["1", "a:1", "1:b", "5:1 4:2", "4:2 5:1"] {
            assert!(text.parse::<Ages>().is_err(), "{text}");
        }
        assert_eq!("".parse(), Ok(Ages::default()));
    }
}
