//! What a journal keeps of a task once its entries are old: how the task came to be, what it was at the end of that time, and of a task
//! that is not there its last state for as long as that is promised.

use super::presence::{Step, absences};
use super::removed::Absence;
use crate::Revision;

/// One entry about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// What it says of whether the task is there.
    pub step: Step,
    /// Where another program put a different task in the place of this one, and it did not come back: whether it was open.
    pub replaced: Option<bool>,
}

/// By which terms entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Entries up to this revision are old.
    pub horizon: Revision,
    /// The last state of a task that went with a revision up to this one is not promised any more.
    pub gone_until: Revision,
    /// Whether the list's own place is gone, and every task with it.
    pub list_is_gone: bool,
    /// Whether the caller named the task as one that may go although no agent deleted it on purpose.
    pub is_named: bool,
    /// Whether the last entry tells how far the list goes: its newest revision or its highest number.
    pub is_mark: bool,
}

/// What becomes of an old entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays.
    Whole,
    /// It stays, without what the task was.
    Bare,
    /// It goes.
    No,
}

/// Decides what becomes of each old entry about one task, given all of them, oldest first. `is_open` tells whether the task was open in
/// what an entry left, else in what it found; none where neither can be read.
///
/// Why the task is not there, or that it is, reads from what is kept as it read from everything, also after the entries that are not
/// old: where it would not, everything stays.
pub fn thin(past: &[Past], terms: &Terms, is_open: &mut dyn FnMut(usize, Side) -> Option<bool>) -> Vec<Keep> {
    let old = past.partition_point(|entry| entry.step.revision <= terms.horizon);
    if old == 0 {
        return Vec::new();
    }
    let steps: Vec<Step> = past.iter().map(|entry| entry.step.clone()).collect();
    let states = absences(&steps);
    let last_state = last_readable(&past[..old], is_open);
    // What is no task and came later is not the task.
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
    // Of a list that is gone the journal does not say that its tasks are.
    let is_unnoticed = terms.list_is_gone && old == past.len();
    if is_unnoticed || reads_the_same(&steps, &states, &kept) { kept } else { vec![Keep::Whole; old] }
}

/// Which of its two images an entry is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What it found.
    Before,
    /// What it left.
    After,
}

/// Returns the last entry that tells of the task in a form that can be read, and whether it was open then.
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

/// Tells whether the state of the task at the end of the old entries is to be kept.
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
        // What it was while it was away is told by what it is now.
        return is_there;
    }
    let last = past.len() - 1;
    let is_young = past[last].step.revision > terms.gone_until;
    let nobody_meant_it = states[last].is_none_or(|absence| absence == Absence::Missing);
    is_young || (nobody_meant_it && is_open == Some(true) && !terms.is_named)
}

/// Keeps how the task came to be, its last state, and what came after that.
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

/// Keeps the tasks in whose place others were put, each with the entry before, which has it.
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

/// Tells whether presence and absence read the same from what is kept, at the end of the old entries and ever after.
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

#[cfg(test)]
mod tests {
    use super::{Keep, Past, Side, Step, Terms, thin};
    use crate::{Op, Revision};

    /// Plays what was done to a task, one word a revision; `undo3` takes revision 3 back. A word with a
    /// mark leaves what is no task.
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

    /// Returns the revisions that are kept, those without images in brackets; the task is open, or completed.
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
    fn of_a_task_that_is_there_its_making_and_its_state_at_the_end_stay() {
        assert_eq!(kept("create update update update", terms(3), true), "1 3");
        assert_eq!(kept("create update update update", terms(4), false), "1 4");
        assert_eq!(kept("create", terms(1), true), "1");
        assert_eq!(kept("create update", terms(0), true), "");
    }

    #[test]
    fn the_last_state_of_a_removed_task_stays_until_its_time_has_passed() {
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
        // That it is meant to be gone was said, and taken back.
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
    fn the_last_state_that_can_be_read_stays_whatever_was_written_over_it() {
        assert_eq!(kept("create update changed! changed! changed!", terms(5), true), "1 2 5");
        assert_eq!(kept("create update changed! rm", terms(4), true), "1 2 4");
    }

    #[test]
    fn a_task_in_whose_place_another_was_put_stays_with_the_one_before() {
        assert_eq!(kept("create update update replaced update update", terms(6), true), "1 3 4 6");
        let named = Terms { is_named: true, ..terms(6) };
        assert_eq!(kept("create update update replaced update update", named, true), "1 6");
    }

    #[test]
    fn why_a_task_is_not_there_reads_as_before() {
        // It was deleted on purpose, brought back, and that was undone: it still counts as deleted.
        assert_eq!(kept("create delete restore undo3", terms(3), true), "1 2 3");
        assert_eq!(kept("create delete restore undo3", terms(4), true), "");
        // What came back since is told by what it is now.
        assert_eq!(kept("create delete restore update", terms(2), true), "(2)");
        assert_eq!(kept("create delete restore update update", terms(4), true), "3 4");
    }
}
