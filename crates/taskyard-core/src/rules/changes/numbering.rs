//! Which number the next task gets.

use crate::dialect::{macf, native};
use crate::{Rules, TaskId};

/// The largest number that counts: JavaScript counts on from it without a gap, and the client from what that gives.
pub const LARGEST_NUMBER: u64 = (1 << 53) - 2;

/// What is known of the numbers a list has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// The highest number that counts among the file names.
    pub highest_file: f64,
    /// The number in `.highwatermark`.
    pub mark: f64,
    /// The highest number that counts and that the journal ever saw.
    pub journaled: f64,
}

/// Returns the number that a text counts as when numbers are given out: the one at its beginning, as `parseInt` reads it.
///
/// A number beyond [`LARGEST_NUMBER`] does not count, wherever it stands: who took it for the highest could not count on from
/// it, and would write over what is there.
pub fn counted(text: &str) -> Option<f64> {
    native::parse_int(text).filter(|number| (1.0..=LARGEST_NUMBER as f64).contains(number))
}

/// Tells whether a name begins with a number that is too large to count.
pub fn is_beyond_counting(text: &str) -> bool {
    native::parse_int(text).is_some_and(|number| number > LARGEST_NUMBER as f64)
}

/// Returns the highest number that counts among names; zero where none does.
pub fn highest<'a>(names: impl IntoIterator<Item = &'a str>) -> f64 {
    names.into_iter().filter_map(counted).fold(0.0, f64::max)
}

/// Returns the ids of the next tasks, one after the other. They end where numbers end: the last of them does not count itself, and may be
/// taken.
///
/// Strict rules go above every file, the mark, and everything the journal ever saw, so that a number is never used twice. Client rules know
/// files and mark only.
pub fn next_ids(numbers: Numbers, rules: Rules) -> impl Iterator<Item = TaskId> {
    (highest_known(numbers, rules) + 1..=LARGEST_NUMBER + 1).map(TaskId::number)
}

fn highest_known(numbers: Numbers, rules: Rules) -> u64 {
    let Numbers { highest_file, mark, journaled } = numbers;
    let journaled = if rules.is_client() { 0.0 } else { journaled };
    let counting = [highest_file, mark, journaled].into_iter().filter(|number| *number <= LARGEST_NUMBER as f64);
    counting.fold(0.0, f64::max) as u64
}

/// Returns the number a file name counts as; a name without one counts as none.
pub fn number_of_file(name: &str) -> Option<f64> {
    counted(name.strip_suffix(".json")?)
}

/// Returns the number a file name counts as, also where the file is hidden from the client.
pub fn number_of_any_file(name: &str) -> Option<f64> {
    number_of_file(name).or_else(|| counted(macf::hidden_task_of(name)?.as_str()))
}

/// Reads the contents of `.highwatermark`; what is no number that counts is zero.
pub fn read_mark(contents: &str) -> f64 {
    counted(contents.trim()).unwrap_or(0.0)
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
