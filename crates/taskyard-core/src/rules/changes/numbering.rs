//! How tasks get their numbers, and how a task is renumbered.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::dialect::macf::{set_parent, with_marks};
use crate::dialect::{macf, native};
use crate::{Rules, Task, TaskId};

/// The largest number that counts. JavaScript can still increment it exactly, and so can the client with the result.
pub const LARGEST_NUMBER: u64 = (1 << 53) - 2;

/// What is known about the numbers that a list has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// The highest counting number among the file names.
    pub highest_file: f64,
    /// The number in `.highwatermark`.
    pub mark: f64,
    /// The highest counting number that was ever recorded in the journal.
    pub journaled: f64,
}

/// Returns the number at the start of a text, parsed like JavaScript's `parseInt`. Returns `None` if there is none or
/// it does not count.
///
/// A number above [`LARGEST_NUMBER`] never counts: a program that took it for the highest number could not increment it
/// and would overwrite an existing task.
pub fn counted(text: &str) -> Option<f64> {
    native::parse_int(text).filter(|number| (1.0..=LARGEST_NUMBER as f64).contains(number))
}

/// Returns whether a name starts with a number that is too large to count.
pub fn is_beyond_counting(text: &str) -> bool {
    native::parse_int(text).is_some_and(|number| number > LARGEST_NUMBER as f64)
}

/// Returns the highest counting number among names, or zero if there is none.
pub fn highest<'a>(names: impl IntoIterator<Item = &'a str>) -> f64 {
    names.into_iter().filter_map(counted).fold(0.0, f64::max)
}

/// Returns the ids of the next tasks, in order. The last one is `LARGEST_NUMBER + 1`, which does not count itself but
/// may be used.
///
/// Strict rules continue above every file, the mark and everything ever recorded in the journal, so that a number is
/// never used twice. Client rules only consider files and the mark.
pub fn next_ids(numbers: Numbers, rules: Rules) -> impl Iterator<Item = TaskId> {
    (highest_known(numbers, rules) + 1..=LARGEST_NUMBER + 1).map(TaskId::number)
}

fn highest_known(numbers: Numbers, rules: Rules) -> u64 {
    let Numbers { highest_file, mark, journaled } = numbers;
    let journaled = if rules.is_client() { 0.0 } else { journaled };
    let counting = [highest_file, mark, journaled].into_iter().filter(|number| *number <= LARGEST_NUMBER as f64);
    counting.fold(0.0, f64::max) as u64
}

/// Assigns ids to tasks that come from elsewhere, at most as many as there are new ids. A task keeps its number if the
/// list has never used it; every other task gets the next free one.
pub(crate) fn keep_numbers(stated: &[Option<&TaskId>], new_ids: &[TaskId]) -> Vec<TaskId> {
    let first_free = new_ids.first().and_then(TaskId::as_number).unwrap_or(u64::MAX);
    // A number far above the others would raise every later number, and one near the limit would leave no room for the
    // rest.
    let end = LARGEST_NUMBER.saturating_sub(stated.len() as u64);
    let is_near = |number: u64| number >= first_free && number - first_free < 1_000_000 && number <= end;
    let mut taken: HashSet<u64> = HashSet::new();
    let mut keeps = |id: &Option<&TaskId>| {
        id.and_then(TaskId::as_number).filter(|number| is_near(*number) && taken.insert(*number))
    };
    let kept: Vec<Option<u64>> = stated.iter().map(&mut keeps).collect();
    let highest = kept.iter().flatten().max().copied();
    let mut counted = highest.into_iter().flat_map(|highest| highest + 1..).map(TaskId::number);
    let mut given = new_ids.iter().cloned();
    let ids =
        kept.into_iter().map_while(|kept| kept.map(TaskId::number).or_else(|| counted.next()).or_else(|| given.next()));
    ids.collect()
}

/// Returns the number of a task file's name, or `None` if it has none that counts.
pub fn number_of_file(name: &str) -> Option<f64> {
    counted(name.strip_suffix(".json")?)
}

/// Returns the number of a task file's name, including files that are hidden from the client.
pub fn number_of_any_file(name: &str) -> Option<f64> {
    number_of_file(name).or_else(|| counted(macf::hidden_task_of(name)?.as_str()))
}

/// Parses the contents of `.highwatermark`. Returns zero if they are not a number that counts.
pub fn read_mark(contents: &str) -> f64 {
    counted(contents.trim()).unwrap_or(0.0)
}

/// Changes a task's id, and every edge and parent that refers to it. Returns the ids of the changed tasks, including
/// the new id. Does nothing if the task does not exist.
pub fn renumber(tasks: &mut BTreeMap<TaskId, Task>, from: &TaskId, to: &TaskId) -> BTreeSet<TaskId> {
    let mut changed = BTreeSet::new();
    let Some(task) = tasks.remove(from) else { return changed };
    let mut renumbered = Task { id: to.clone(), stated_id: None, ..task.clone() };
    if let Some(subject) = with_marks(&task, &renumbered, None) {
        renumbered.subject = subject;
    }
    tasks.insert(to.clone(), renumbered);
    changed.insert(to.clone());
    for (id, task) in tasks.iter_mut() {
        let mut has_changed = false;
        for edge in task.blocks.iter_mut().chain(&mut task.blocked_by).filter(|edge| *edge == from) {
            *edge = to.clone();
            has_changed = true;
        }
        if task.parent().as_ref() == Some(from) {
            let before = task.clone();
            set_parent(task, Some(to));
            if let Some(subject) = with_marks(&before, task, None) {
                task.subject = subject;
            }
            has_changed = true;
        }
        if has_changed {
            changed.insert(id.clone());
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{
        Numbers, counted, highest, is_beyond_counting, next_ids, number_of_any_file, number_of_file, read_mark,
    };
    use crate::{ClientVersion, Rules, TaskId};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_34);

    fn next_id(numbers: Numbers, rules: Rules) -> TaskId {
        next_ids(numbers, rules).next().unwrap()
    }

    #[test]
    fn the_next_number_is_above_files_mark_and_journal() {
        let numbers = Numbers { highest_file: 3.0, mark: 5.0, journaled: 9.0 };
        assert_eq!(next_id(numbers, Rules::Strict).as_str(), "10");
        assert_eq!(next_id(numbers, CLIENT).as_str(), "6");
        assert_eq!(next_id(Numbers::default(), Rules::Strict).as_str(), "1");
    }

    #[test]
    fn a_number_that_cannot_be_counted_on_from_counts_nowhere() {
        for text in
            ["9007199254740991", "9007199254740992x", "18446744073709551615", "1794754403000000000", "1e3", "-1", "0"]
        {
            let expected = if text == "1e3" { Some(1.0) } else { None };
            assert_eq!(counted(text), expected, "{text}");
            assert_eq!(number_of_any_file(&format!("{text}.json")), expected, "{text}");
            assert_eq!(read_mark(text), expected.unwrap_or(0.0), "{text}");
        }
        let largest = "9007199254740990";
        assert_eq!(counted(largest), Some(9_007_199_254_740_990.0));
        assert_eq!(number_of_any_file(".9007199254740993.json"), None);
        assert!(is_beyond_counting("9007199254740991") && !is_beyond_counting(largest) && !is_beyond_counting("-1"));
        for name in ["٣", "１", "x", ""] {
            assert_eq!((counted(name), is_beyond_counting(name)), (None, false), "{name}");
        }
        assert_eq!(highest(["3", "1794754403000000000", "007"]), 7.0);
    }

    #[test]
    fn numbers_end_and_never_begin_again() {
        let numbers = Numbers { highest_file: 9_007_199_254_740_990.0, mark: 4.0, journaled: 0.0 };
        for rules in [Rules::Strict, CLIENT] {
            assert_eq!(next_id(numbers, rules).as_str(), "9007199254740991");
            assert_eq!(next_ids(numbers, rules).map(|id| id.to_string()).collect::<Vec<_>>(), ["9007199254740991"]);
        }
    }

    #[test]
    fn many_tasks_get_numbers_in_a_row() {
        let numbers = Numbers { highest_file: 3.0, mark: 5.0, journaled: 9.0 };
        let ids = |rules| next_ids(numbers, rules).take(3).map(|id| id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(Rules::Strict), ["10", "11", "12"]);
        assert_eq!(ids(CLIENT), ["6", "7", "8"]);
        assert_eq!(next_ids(numbers, Rules::Strict).next(), Some(next_id(numbers, Rules::Strict)));
    }

    #[test]
    fn names_and_marks_are_read_as_the_client_reads_them() {
        assert_eq!(number_of_file("12x.json"), Some(12.0));
        assert_eq!(number_of_file("abc.json"), None);
        assert_eq!(number_of_file("7.json.tmp"), None);
        assert_eq!(read_mark(" 90 \n"), 90.0);
        assert_eq!(read_mark("garbage"), 0.0);
    }
}

#[cfg(test)]
mod renumbering_tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::renumber;
    use crate::rules::samples::{id, task};

    const HUGE: u64 = 1_794_754_403_000_000_000;

    #[test]
    fn edges_and_parts_go_with_the_task() {
        let mut part = task(3, &[], &[]);
        part.metadata = json!({ "parent": HUGE }).as_object().cloned();
        let mut huge = task(HUGE, &[1, HUGE], &[2, HUGE]);
        huge.stated_id = Some("7".into());
        let list = [task(1, &[], &[HUGE]), task(2, &[1, HUGE], &[]), part, task(4, &[1], &[]), huge];
        let mut tasks: BTreeMap<_, _> = list.into_iter().map(|task| (task.id.clone(), task)).collect();
        assert_eq!(renumber(&mut tasks, &id(HUGE), &id(5)), BTreeSet::from([id(1), id(2), id(3), id(5)]));
        assert_eq!(tasks[&id(5)], task(5, &[1, 5], &[2, 5]));
        assert_eq!((&tasks[&id(1)].blocks, &tasks[&id(2)].blocked_by), (&vec![id(5)], &vec![id(1), id(5)]));
        assert_eq!(tasks[&id(3)].parent(), Some(id(5)));
        assert_eq!(renumber(&mut tasks, &id(HUGE), &id(6)), BTreeSet::new());
    }
}
