//! Ids of tasks as people write them: one, or a range of numbers.

use std::str::FromStr;

use crate::{BadTaskId, TaskId};

/// The largest number of tasks that a range may name: more are a slip of the finger.
const LONGEST_RANGE: u64 = 10_000;

/// One task, or all numbers from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IdRange {
    One(TaskId),
    Numbers(u64, u64),
}

impl IdRange {
    /// Returns the tasks.
    pub fn ids(&self) -> Vec<TaskId> {
        match self {
            Self::One(id) => vec![id.clone()],
            Self::Numbers(first, last) => (*first..=*last).map(TaskId::number).collect(),
        }
    }
}

/// Reads a task's id, or two numbers with a hyphen between them.
impl FromStr for IdRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| parse_id(text).ok().and_then(|id| id.as_number());
        let range = text.split_once('-').and_then(|(first, last)| number(first).zip(number(last)));
        match range {
            None => parse_id(text).map(Self::One),
            Some((first, last)) if first > last => Err(format!("the range runs backwards; write {last}-{first}")),
            Some((first, last)) if last - first >= LONGEST_RANGE => {
                Err(format!("a range names {LONGEST_RANGE} tasks at most; `--where` chooses more"))
            }
            Some((first, last)) => Ok(Self::Numbers(first, last)),
        }
    }
}

/// Reads a task's id; `#7` and ` 7` are 7.
pub fn parse_id(text: &str) -> Result<TaskId, String> {
    text.trim().parse().map_err(|error: BadTaskId| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{IdRange, parse_id};
    use crate::TaskId;

    #[test]
    fn ids_may_carry_the_mark_that_displays_put_before_them() {
        assert_eq!(parse_id(" #7"), Ok(TaskId::number(7)));
        assert!(parse_id("../../x").is_err());
        assert!(parse_id("").is_err());
    }

    #[test]
    fn range_is_two_numbers_and_everything_else_is_a_name() {
        let read = |text: &str| text.parse::<IdRange>();
        assert_eq!(read("7"), Ok(IdRange::One(TaskId::number(7))));
        assert_eq!(read("#7-#9"), Ok(IdRange::Numbers(7, 9)));
        assert_eq!(read("7-7").unwrap().ids(), [TaskId::number(7)]);
        assert_eq!(read("a-b"), Ok(IdRange::One(TaskId::stored("a-b"))));
        assert!(read("9-7").unwrap_err().contains("7-9"));
        assert!(read("1-18446744073709551615").is_err());
    }
}
