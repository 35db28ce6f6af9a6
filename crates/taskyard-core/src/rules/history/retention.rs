//! Which old journal entries are kept, and how their age is measured.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::rules::history::vanishing::{Absence, Step, absences};
use crate::{Revision, Timestamp};

/// An entry about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Whether the task existed before and after it.
    pub step: Step,
    /// Set if the entry replaced the task with a different one and the old task did not come back: whether that was
    /// open.
    pub replaced: Option<bool>,
}

/// The conditions under which entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Entries up to this revision are old.
    pub horizon: Revision,
    /// The last state of a task that disappeared up to this revision need not be kept any longer.
    pub gone_until: Revision,
    /// Whether the whole list is gone, and every task with it.
    pub list_is_gone: bool,
    /// Whether the caller explicitly allowed the task to be dropped although no agent deleted it on purpose.
    pub is_named: bool,
    /// Whether the last entry records the list's newest revision or highest number.
    pub is_mark: bool,
}

/// What happens to an old entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It is kept.
    Whole,
    /// It is kept without its images of the task.
    Bare,
    /// It is removed.
    No,
}

/// Decides what happens to each old entry about a task. `past` are all of its entries, oldest first. `is_open` returns
/// whether the task was open in the given image of an entry, or `None` if that image cannot be parsed.
///
/// The entries kept give the same answer to whether and why the task is absent as all entries did, at the end of the
/// old entries and after each later one. If they would not, all are kept.
pub fn thin(past: &[Past], terms: &Terms, is_open: &mut dyn FnMut(usize, Side) -> Option<bool>) -> Vec<Keep> {
    let old = past.partition_point(|entry| entry.step.revision <= terms.horizon);
    if old == 0 {
        return Vec::new();
    }
    let steps: Vec<Step> = past.iter().map(|entry| entry.step.clone()).collect();
    let states = absences(&steps);
    let last_state = last_readable(&past[..old], is_open);
    // A later file that is not a valid task does not count as the task coming back.
    let comes_back = (old..past.len()).any(|place| past[place].step.is_there && is_open(place, Side::After).is_some());
    let is_open = last_state.map(|(_, is_open)| is_open);
    let kept = if is_promised(past, &states, old, comes_back, terms, is_open) {
        with_state(&past[..old], terms, last_state.map(|(place, _)| place))
    } else {
        let mut kept = vec![Keep::No; old];
        if old < past.len() || terms.is_mark {
            kept[old - 1] = Keep::Bare;
        }
        with_replaced(&past[..old], terms, &mut kept);
        kept
    };
    // The journal does not record the removal of tasks whose list is gone.
    let is_unnoticed = terms.list_is_gone && old == past.len();
    if is_unnoticed || reads_the_same(&steps, &states, &kept) { kept } else { vec![Keep::Whole; old] }
}

/// One of the two images of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The state before.
    Before,
    /// The state after.
    After,
}

/// Returns the index of the last entry with a readable image of the task, and whether the task was open in it.
fn last_readable(old: &[Past], is_open: &mut dyn FnMut(usize, Side) -> Option<bool>) -> Option<(usize, bool)> {
    let mut find = |side: Side| {
        (0..old.len()).rev().find_map(|place| {
            let step = &old[place].step;
            let has_image = if side == Side::After { step.is_there } else { step.was_there };
            has_image.then(|| is_open(place, side)).flatten().map(|is_open| (place, is_open))
        })
    };
    find(Side::After).or_else(|| find(Side::Before))
}

/// Returns whether the task's state at the end of the old entries must be kept.
fn is_promised(
    past: &[Past],
    states: &[Option<Absence>],
    old: usize,
    comes_back: bool,
    terms: &Terms,
    is_open: Option<bool>,
) -> bool {
    let is_there = states[old - 1].is_none();
    if comes_back || (is_there && !(terms.list_is_gone && old == past.len())) {
        // A task that came back is described by its current state.
        return is_there;
    }
    let last = past.len() - 1;
    let is_young = past[last].step.revision > terms.gone_until;
    let nobody_meant_it = states[last].is_none_or(|absence| absence == Absence::Missing);
    is_young || (nobody_meant_it && is_open == Some(true) && !terms.is_named)
}

/// Keeps the creation of the task, its last state, and everything after that.
fn with_state(old: &[Past], terms: &Terms, last_state: Option<usize>) -> Vec<Keep> {
    let mut kept = vec![Keep::No; old.len()];
    let last = old.len() - 1;
    let state = last_state.unwrap_or(last);
    let came = |place: &usize| !old[*place].step.was_there && old[*place].step.is_there;
    if let Some(making) = (0..=state).rev().find(came) {
        kept[making] = Keep::Whole;
    }
    kept[state] = Keep::Whole;
    kept[last] = Keep::Whole;
    for place in state..last {
        if !old[place].step.is_there {
            kept[place] = Keep::Whole;
        }
    }
    with_replaced(old, terms, &mut kept);
    kept
}

/// Keeps the replaced tasks, each together with the preceding entry, which contains the task.
fn with_replaced(old: &[Past], terms: &Terms, kept: &mut [Keep]) {
    for (place, entry) in old.iter().enumerate() {
        let is_young = entry.step.revision > terms.gone_until;
        let is_promised = entry.replaced.is_some_and(|is_open| is_young || (is_open && !terms.is_named));
        if is_promised {
            kept[place.saturating_sub(1)] = Keep::Whole;
            kept[place] = Keep::Whole;
        }
    }
}

/// Returns whether the kept entries give the same presence and absence as all entries, at the end of the old ones and
/// after every later one.
fn reads_the_same(steps: &[Step], states: &[Option<Absence>], kept: &[Keep]) -> bool {
    let old = kept.len();
    let thinned: Vec<Step> = kept
        .iter()
        .zip(steps)
        .filter_map(|(keep, step)| match keep {
            Keep::Whole => Some(step.clone()),
            Keep::Bare => Some(step.without_images()),
            Keep::No => None,
        })
        .chain(steps[old..].iter().cloned())
        .collect();
    if thinned.is_empty() {
        return true;
    }
    let read = absences(&thinned);
    let later = steps.len() - old;
    let (was, is) = (&states[old..], &read[read.len() - later..]);
    let at_the_end = read.len().checked_sub(later + 1).map(|place| read[place]);
    was == is && at_the_end.is_none_or(|read| read == states[old - 1])
}

const DAY: i64 = 24 * 60 * 60 * 1000;
/// The longest step between two readings that counts, in milliseconds: 31 days.
const LONGEST_STEP: i64 = 31 * DAY;
/// The number of parts into which the records of a list divide the retention time.
const RECORDS: i64 = 64;

/// Elapsed time, measured by readings of the wall clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elapsed {
    /// Milliseconds elapsed since the first reading.
    pub counted: i64,
    /// The last reading that counted.
    pub wall: Timestamp,
    /// Earlier times than this are not comparable with later ones, because the clock was set in between.
    pub comparable_since: Timestamp,
    /// The readings since then that do not count.
    pub doubt: Option<Doubt>,
}

/// Readings that do not count because the clock jumped by more than a month, or backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The first of these readings.
    pub first: Timestamp,
    /// The last of these readings.
    pub last: Timestamp,
}

/// The result of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The reading counts.
    Counted,
    /// The reading does not count.
    Doubted {
        /// Whether this starts a new doubt rather than continuing the previous one.
        is_new: bool,
    },
}

impl Elapsed {
    /// Starts measuring at a reading.
    pub const fn starting(wall: Timestamp) -> Self {
        Self { counted: 0, wall, comparable_since: Timestamp(i64::MIN), doubt: None }
    }

    /// Processes a reading. A step forward of at most 31 days counts, and a step back of less than a day is tolerated;
    /// any other is doubted. A clock that has run on for 31 days since it was first doubted is trusted again, but the
    /// jump itself never counts.
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

    /// Processes a reading that a user has confirmed: all of the time since the last counted reading has passed.
    pub fn confirm(&mut self, now: Timestamp) {
        self.counted = self.counted.saturating_add(now.0.saturating_sub(self.wall.0).max(0));
        self.wall = now;
        self.comparable_since = self.comparable_since.min(now);
        self.doubt = None;
    }

    /// Returns the current doubt, if any.
    pub fn in_doubt(&self) -> Option<ClockDoubt> {
        self.doubt.map(|doubt| ClockDoubt { last: self.wall, now: doubt.last })
    }

    /// Returns the time before which something with a timestamp is older than `keep`.
    pub fn old_before(&self, keep: Duration) -> Timestamp {
        let before = Timestamp(self.wall.0.saturating_sub(milliseconds(keep)));
        if before <= self.comparable_since { Timestamp(i64::MIN) } else { before }
    }
}

/// A clock that has jumped by more than a month, or backwards, since it was last trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDoubt {
    /// The last trusted reading, or the time of the newest entry.
    pub last: Timestamp,
    /// The current reading.
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

/// How far a clock is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockTrust {
    /// As far as its steps are plausible.
    Plausible,
    /// Completely: a user confirmed that all of the time it shows has passed.
    Vouched,
}

/// The newest revision of a list at several counts of elapsed time. Both increase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages(Vec<(i64, Revision)>);

impl Ages {
    /// Estimates the records of a list that has none, from the times of its entries, oldest first, and the current
    /// time.
    pub fn by_times(times: &[(Revision, Timestamp)], now: &Elapsed, keep: Duration, trust: ClockTrust) -> Self {
        let mut walk = WalkBack { at: now.wall };
        let mut counted = now.counted;
        let mut ages: Vec<(i64, Revision)> = Vec::new();
        for (revision, at) in times.iter().rev() {
            counted -= walk.step_to(*at, trust);
            match ages.last() {
                // In each part of the retention time only the newest entry is recorded; the others count as equally
                // young.
                Some((last, _)) if *last - counted < grain(keep) => {}
                _ => ages.push((counted, *revision)),
            }
        }
        ages.reverse();
        Self(ages)
    }

    /// Records the newest revision, unless one was recorded recently. Returns whether anything changed.
    pub fn note(&mut self, counted: i64, newest: Revision, keep: Duration) -> bool {
        let before = self.0.len();
        // Of the records that are old enough, only the newest is needed.
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

    /// Returns the last revision that is at least `keep` old, or 0 if there is none.
    pub fn older_than(&self, counted: i64, keep: Duration) -> Revision {
        let is_old = |(record, _): &&(i64, Revision)| counted.saturating_sub(*record) >= milliseconds(keep);
        self.0.iter().rev().find(is_old).map_or(Revision(0), |(_, revision)| *revision)
    }
}

impl fmt::Display for Ages {
    /// Formats the records as `COUNTED:REVISION`, separated by spaces.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: Vec<String> =
            self.0.iter().map(|(counted, revision)| format!("{counted}:{}", revision.0)).collect();
        formatter.write_str(&records.join(" "))
    }
}

/// The text is not in the format written by [`Ages`].
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

/// Returns the time before which everything is older than `keep`, given the times of events, newest first. Returns
/// `None` if less time has passed. If the clock is vouched for, that applies only to the last step, up to now.
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

/// Returns whether a clock showing `now` is plausible if something happened at `last`: it is less than a day behind and
/// at most 31 days ahead.
pub fn is_plausible(last: Timestamp, now: Timestamp) -> bool {
    let step = now.0.saturating_sub(last.0);
    step > -DAY && step <= LONGEST_STEP
}

/// Measures the time between events, going backwards.
struct WalkBack {
    at: Timestamp,
}

impl WalkBack {
    /// Moves to the previous event. Returns how much of the time between counts, in milliseconds.
    fn step_to(&mut self, at: Timestamp, trust: ClockTrust) -> i64 {
        let step = self.at.0.saturating_sub(at.0);
        if (-LONGEST_STEP..=0).contains(&step) {
            // The clock was ahead for a while: do not count that time twice.
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
    use super::{Keep, Past, Side, Step, Terms, thin};
    use crate::{Op, Revision};

    /// Applies operations to a task, one word per revision; `undo3` undoes revision 3. A word with a mark leaves a file
    /// that is not a valid task.
    fn past(words: &str) -> Vec<Past> {
        let mut there: Vec<bool> = vec![false];
        let mut past = Vec::new();
        for (place, word) in words.split_whitespace().enumerate() {
            let undone: Option<usize> = word.strip_prefix("undo").map(|number| number.parse().unwrap());
            let was_there = there[place];
            let (op, is_there) = match (word.trim_end_matches('!'), undone) {
                (_, Some(number)) => (Op::Undo, there[number - 1]),
                ("create", _) => (Op::Create, true),
                ("update", _) => (Op::Update, true),
                ("changed" | "replaced", _) => (Op::ChangedElsewhere, true),
                ("restore", _) => (Op::Restore, true),
                ("rm", _) => (Op::RemovedElsewhere, false),
                ("delete", _) => (Op::Delete, false),
                (other, _) => panic!("{other} is no word"),
            };
            there.push(is_there);
            let revision = Revision(place as u64 + 1);
            let undoes = undone.map(|number| Revision(number as u64)).into_iter().collect();
            let step = Step { revision, op, undoes, was_there, was_task: was_there, is_there };
            let replaced = (word == "replaced").then_some(true);
            past.push(Past { step, replaced });
        }
        past
    }

    fn terms(horizon: u64) -> Terms {
        Terms {
            horizon: Revision(horizon),
            gone_until: Revision(horizon),
            list_is_gone: false,
            is_named: false,
            is_mark: false,
        }
    }

    /// Returns the kept revisions, those without images in parentheses. `is_open` is the task's status.
    fn kept(words: &str, terms: Terms, is_open: bool) -> String {
        let words_of: Vec<&str> = words.split_whitespace().collect();
        let past = past(words);
        let mut open = |place: usize, side: Side| {
            let told_by = if side == Side::After { place } else { place.checked_sub(1)? };
            (!words_of[told_by].ends_with('!')).then_some(is_open)
        };
        let kept = thin(&past, &terms, &mut open);
        let named = |(place, keep): (usize, &Keep)| match keep {
            Keep::Whole => Some((place + 1).to_string()),
            Keep::Bare => Some(format!("({})", place + 1)),
            Keep::No => None,
        };
        kept.iter().enumerate().filter_map(named).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn live_task_keeps_its_creation_and_last_state() {
        assert_eq!(kept("create update update update", terms(3), true), "1 3");
        assert_eq!(kept("create update update update", terms(4), false), "1 4");
        assert_eq!(kept("create", terms(1), true), "1");
        assert_eq!(kept("create update", terms(0), true), "");
    }

    #[test]
    fn removed_task_is_kept_until_its_time_has_passed() {
        let young = Terms { gone_until: Revision(2), ..terms(3) };
        for (words, is_open) in [("create update delete", true), ("create update rm", false)] {
            assert_eq!(kept(words, young, is_open), "1 2 3", "{words}");
            assert_eq!(kept(words, terms(3), is_open), "", "{words}");
        }
    }

    #[test]
    fn an_open_task_that_nobody_deleted_stays_until_it_is_named() {
        assert_eq!(kept("create update rm", terms(3), true), "1 2 3");
        assert_eq!(kept("create update rm", Terms { is_named: true, ..terms(3) }, true), "");
        // The deletion was recorded and then undone.
        assert_eq!(kept("create rm delete undo3", terms(4), true), "1 2 3 4");
        assert_eq!(kept("create rm delete", terms(3), true), "");
    }

    #[test]
    fn what_goes_with_its_list_is_kept_as_long_as_what_goes_alone() {
        let gone = Terms { list_is_gone: true, ..terms(2) };
        assert_eq!(kept("create update", gone, true), "1 2");
        assert_eq!(kept("create update", gone, false), "");
        assert_eq!(kept("create update", Terms { is_mark: true, ..gone }, false), "(2)");
        assert_eq!(kept("create update", Terms { gone_until: Revision(1), ..gone }, false), "1 2");
    }

    #[test]
    fn how_far_the_list_goes_stays() {
        assert_eq!(kept("create delete", Terms { is_mark: true, ..terms(2) }, true), "(2)");
    }

    #[test]
    fn last_readable_state_survives_overwriting() {
        assert_eq!(kept("create update changed! changed! changed!", terms(5), true), "1 2 5");
        assert_eq!(kept("create update changed! rm", terms(4), true), "1 2 4");
    }

    #[test]
    fn replaced_task_keeps_its_former_identity() {
        assert_eq!(kept("create update update replaced update update", terms(6), true), "1 3 4 6");
        let named = Terms { is_named: true, ..terms(6) };
        assert_eq!(kept("create update update replaced update update", named, true), "1 6");
    }

    #[test]
    fn why_a_task_is_not_there_reads_as_before() {
        // It was deleted on purpose and restored, and the restore was undone: it still counts as deleted.
        assert_eq!(kept("create delete restore undo3", terms(3), true), "1 2 3");
        assert_eq!(kept("create delete restore undo3", terms(4), true), "");
        // A task that came back is described by its current state.
        assert_eq!(kept("create delete restore update", terms(2), true), "(2)");
        assert_eq!(kept("create delete restore update update", terms(4), true), "3 4");
    }
}

#[cfg(test)]
mod elapsed_tests {
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
        // A clock set back by less than a day continues from its previous reading.
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
            // Once corrected, the clock continues as if it had never jumped.
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
        // Earlier timestamps are not older than the clock that is now trusted.
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
        // The clock was wrong for the first two or for the third, or is wrong now, or nothing happened for a long time.
        assert_eq!(old(&ages(&[100, 110, 990, 999], Plausible)), 0);
        assert_eq!(old(&ages(&[980, 990, 100, 999], Plausible)), 0);
        assert_eq!(old(&ages(&[2_000, 2_010], Plausible)), 0);
        assert_eq!(old(&ages(&[100, 110], Plausible)), 0);
        assert_eq!(old(&ages(&[100, 110], Vouched)), 2);
        // A clock that is occasionally ahead counts no day twice.
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
