//! Which tasks a command is about.

use clap::Args;
use taskyard::core::TaskId;

use super::values::parse_id;

/// So many tasks a range may name: more are a slip of the finger.
const LONGEST_RANGE: u64 = 10_000;
/// This many tasks are few: a store may read them one by one.
const FEW: usize = 100;

/// Which tasks a command is about. The command says with a group `which` whether some have to be named.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichTasks {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_parser = parse_range, value_delimiter = ',', group = "which")]
    pub(crate) ids: Vec<IdRange>,

    /// All tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true, group = "which", conflicts_with = "ids")]
    pub(crate) query: Option<String>,

    /// Change the tasks that can be changed and report the others; without it all of them or none
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Show what would be done, and do nothing; hooks and checks are not asked
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Whether they are answered for as several are, though there may be one only.
    #[arg(skip)]
    pub(crate) is_several: bool,
}

/// One task, or all numbers from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdRange {
    One(TaskId),
    Numbers(u64, u64),
}

impl WhichTasks {
    /// Returns the ids, if they were given and are few.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let ids: Vec<TaskId> = self.ids.iter().flat_map(IdRange::ids).take(FEW + 1).collect();
        (self.query.is_none() && !ids.is_empty() && ids.len() <= FEW).then_some(ids)
    }

    /// Returns the task, where one was named and no more.
    pub(crate) fn only_one(&self) -> Option<&TaskId> {
        match self.ids.as_slice() {
            [IdRange::One(id)] if self.query.is_none() && !self.is_several => Some(id),
            _ => None,
        }
    }
}

impl IdRange {
    /// Returns the tasks.
    pub(crate) fn ids(&self) -> Vec<TaskId> {
        match self {
            Self::One(id) => vec![id.clone()],
            Self::Numbers(first, last) => (*first..=*last).map(TaskId::number).collect(),
        }
    }
}

/// Reads a task's id, or two numbers with a hyphen between them.
pub(crate) fn parse_range(text: &str) -> Result<IdRange, String> {
    let number = |text: &str| parse_id(text).ok().and_then(|id| id.as_number());
    let range = text.split_once('-').and_then(|(first, last)| number(first).zip(number(last)));
    match range {
        None => parse_id(text).map(IdRange::One),
        Some((first, last)) if first > last => Err(format!("the range runs backwards; write {last}-{first}")),
        Some((first, last)) if last - first >= LONGEST_RANGE => {
            Err(format!("a range names {LONGEST_RANGE} tasks at most; `--where` chooses more"))
        }
        Some((first, last)) => Ok(IdRange::Numbers(first, last)),
    }
}

#[cfg(test)]
mod tests {
    use taskyard::core::TaskId;

    use super::{IdRange, parse_range};

    #[test]
    fn a_range_is_two_numbers_and_everything_else_is_a_name() {
        assert_eq!(parse_range("7"), Ok(IdRange::One(TaskId::number(7))));
        assert_eq!(parse_range("#7-#9"), Ok(IdRange::Numbers(7, 9)));
        assert_eq!(parse_range("7-7").unwrap().ids(), [TaskId::number(7)]);
        assert_eq!(parse_range("a-b"), Ok(IdRange::One(TaskId::stored("a-b"))));
        assert!(parse_range("9-7").unwrap_err().contains("7-9"));
        assert!(parse_range("1-18446744073709551615").is_err());
    }
}
