//! Which number the next task gets.

use crate::dialect::{macf, native};
use crate::{Rules, TaskId};

/// The largest number we give out: the largest integer JavaScript counts to without a gap.
const LARGEST_NUMBER: f64 = 9_007_199_254_740_991.0;

/// What is known of the numbers a list has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// The highest number among the file names, as `parseInt` reads them.
    pub highest_file: f64,
    /// The number in `.highwatermark`.
    pub mark: f64,
    /// The highest number the journal ever saw.
    pub journaled: f64,
}

/// Returns the id of the next task.
///
/// Strict rules go above every file, the mark, and everything the journal ever saw, so that a number is never used twice.
/// Numbers too large for JavaScript to count on from are passed over. Client rules know files and mark only.
pub fn next_id(numbers: Numbers, rules: Rules) -> TaskId {
    let Numbers { highest_file, mark, journaled } = numbers;
    match rules {
        Rules::Client(_) => TaskId::sanitized(&native::next_number(highest_file.max(mark).max(0.0))),
        Rules::Strict => {
            let countable = [highest_file, mark, journaled].into_iter().filter(|number| *number < LARGEST_NUMBER);
            TaskId::sanitized(&native::next_number(countable.fold(0.0, f64::max)))
        }
    }
}

/// Returns the ids of the tasks after that, one after the other, for many that come at once.
///
/// Numbers too large to count on from are passed over in the client's rules too: there they would repeat.
pub fn next_ids(numbers: Numbers, rules: Rules) -> impl Iterator<Item = TaskId> {
    let Numbers { highest_file, mark, journaled } = numbers;
    let journaled = if rules.is_client() { 0.0 } else { journaled };
    let countable = [highest_file, mark, journaled].into_iter().filter(|number| *number < LARGEST_NUMBER);
    let mut last = countable.fold(0.0, f64::max);
    std::iter::repeat_with(move || {
        let id = TaskId::sanitized(&native::next_number(last));
        last += 1.0;
        id
    })
}

/// Returns the number a file name counts as; a name without one counts as none.
pub fn number_of_file(name: &str) -> Option<f64> {
    native::parse_int(name.strip_suffix(".json")?)
}

/// Returns the number a file name counts as, also where the file is hidden from the client.
pub fn number_of_any_file(name: &str) -> Option<f64> {
    number_of_file(name).or_else(|| macf::hidden_task_of(name)?.as_number().map(|number| number as f64))
}

/// Reads the contents of `.highwatermark`; what is no number counts as zero.
pub fn read_mark(contents: &str) -> f64 {
    native::parse_int(contents.trim()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{Numbers, next_id, next_ids, number_of_file, read_mark};
    use crate::{ClientVersion, Rules};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_34);

    #[test]
    fn the_next_number_is_above_files_mark_and_journal() {
        let numbers = Numbers { highest_file: 3.0, mark: 5.0, journaled: 9.0 };
        assert_eq!(next_id(numbers, Rules::Strict).as_str(), "10");
        assert_eq!(next_id(numbers, CLIENT).as_str(), "6");
        assert_eq!(next_id(Numbers::default(), Rules::Strict).as_str(), "1");
    }

    #[test]
    fn a_number_that_cannot_be_counted_on_from_is_passed_over() {
        let numbers = Numbers { highest_file: 1e20, mark: 4.0, journaled: 0.0 };
        assert_eq!(next_id(numbers, Rules::Strict).as_str(), "5");
        assert_eq!(next_id(numbers, CLIENT).as_str(), "100000000000000000000");
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
