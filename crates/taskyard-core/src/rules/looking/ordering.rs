//! The order in which tasks are shown, by default and on request.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::near_words::nearest;
use crate::rules::looking::query::query_matching::Surroundings;
use crate::{ClientVersion, Status, Task, TaskId};

/// Sorts tasks into display order: in progress, pending, completed, each by number. Tasks without a number keep their
/// order.
pub(crate) fn sort_for_display(tasks: &mut [Task]) {
    tasks.sort_by_cached_key(|task| (rank(task.status), NumberOrder::of(&task.id)));
}

/// Sorts tasks into the order of the client's `TaskList`: by file name in 2.1.34; in 2.1.325, non-numeric names first,
/// then by number.
pub(crate) fn sort_as_the_client(tasks: &mut [Task], version: ClientVersion) {
    match version {
        ClientVersion::V2_1_34 => tasks.sort_by_cached_key(|task| format!("{}.json", task.id.file_stem())),
        ClientVersion::V2_1_325 => tasks.sort_by(|one, two| compare_as_numbers(&one.id, &two.id)),
    }
}

const fn rank(status: Status) -> u8 {
    match status {
        Status::InProgress => 0,
        Status::Pending => 1,
        Status::Completed => 2,
    }
}

/// The sort key of an id: numbers in ascending order, then all other names. Names compare as equal, so use it only with
/// stable sorts, which keep them in the order of the store.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberOrder {
    /// A numeric id.
    Number(u64),
    /// Any other id.
    Name,
}

impl NumberOrder {
    /// Returns the sort key of an id.
    pub fn of(id: &TaskId) -> Self {
        id.as_number().map_or(Self::Name, Self::Number)
    }
}

fn compare_as_numbers(one: &TaskId, two: &TaskId) -> Ordering {
    match (javascript_number(one), javascript_number(two)) {
        (Some(first), Some(second)) => first.total_cmp(&second),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => one.as_str().cmp(two.as_str()),
    }
}

/// Returns the value of JavaScript's `Number` for an id, or `None` if that is not a number.
fn javascript_number(id: &TaskId) -> Option<f64> {
    let digits = id.as_str().strip_prefix('-').unwrap_or(id.as_str());
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    id.as_str().parse().ok()
}

/// The sort keys for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// By number; other names come last.
    Id,
    /// Highest priority first.
    Priority,
    /// In progress, pending, completed.
    Status,
    /// By title.
    Subject,
    /// By owner; tasks without an owner come last.
    Owner,
    /// Earliest due date first; tasks without one come last.
    Due,
    /// Earliest start date first, after the tasks that may start at any time.
    Defer,
    /// Shortest estimate first; tasks without one come last.
    Estimate,
    /// In order of creation, oldest first.
    Age,
    /// Most recently changed first.
    Changed,
}

/// A sort key and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortOrder {
    pub(crate) key: SortKey,
    /// Whether the order is reversed.
    pub(crate) is_reversed: bool,
}

/// An unknown sort key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tasks cannot be sorted by `{}`{}", .word.escape_debug(), in_words(*.meant))]
pub struct UnknownSortKey {
    /// The given word.
    pub(crate) word: String,
    /// The most similar sort key, if there is one.
    pub(crate) meant: Option<&'static str>,
}

fn in_words(meant: Option<&str>) -> String {
    let words = SortKey::WORDS.map(|(word, _)| word).join(", ");
    meant.map_or_else(|| format!("; use {words}"), |meant| format!("; did you mean `{meant}`?"))
}

impl SortKey {
    /// All keys with their names.
    pub(crate) const WORDS: [(&'static str, Self); 10] = [
        ("id", Self::Id),
        ("priority", Self::Priority),
        ("status", Self::Status),
        ("subject", Self::Subject),
        ("owner", Self::Owner),
        ("due", Self::Due),
        ("defer", Self::Defer),
        ("estimate", Self::Estimate),
        ("age", Self::Age),
        ("changed", Self::Changed),
    ];

    /// Returns whether the key needs times that only the journal knows.
    pub(crate) fn asks_for_times(self) -> bool {
        matches!(self, Self::Age | Self::Changed)
    }
}

impl FromStr for SortOrder {
    type Err = UnknownSortKey;

    /// Parses a sort key. A leading `-` reverses the order.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, is_reversed) = text.trim().strip_prefix('-').map_or((text.trim(), false), |word| (word, true));
        let word = word.to_ascii_lowercase();
        let found = SortKey::WORDS.iter().find(|(name, _)| *name == word).map(|(_, key)| *key);
        let meant = || nearest(&word, &SortKey::WORDS.map(|(name, _)| name));
        let key = found.ok_or_else(|| UnknownSortKey { word: text.to_owned(), meant: meant() })?;
        Ok(Self { key, is_reversed })
    }
}

impl SortOrder {
    /// Sorts tasks by the first key; ties are broken by the following keys, then by the present order.
    pub(crate) fn sort(orders: &[Self], tasks: &mut [Task], around: &impl Surroundings) {
        let keys = |task: &Task| orders.iter().map(|order| order.value(task, around)).collect::<Vec<_>>();
        tasks.sort_by_cached_key(keys);
    }

    fn value(self, task: &Task, around: &impl Surroundings) -> Value {
        let number = |number: Option<i64>| number.map_or(Part::Last, Part::Number);
        let part = match self.key {
            SortKey::Id => match NumberOrder::of(&task.id) {
                NumberOrder::Number(id) => Part::Number(i64::try_from(id).unwrap_or(i64::MAX)),
                NumberOrder::Name => Part::Last,
            },
            SortKey::Priority => Part::Number(-(task.priority() as i64)),
            SortKey::Status => Part::Number(match task.status {
                Status::InProgress => 0,
                Status::Pending => 1,
                Status::Completed => 2,
            }),
            SortKey::Subject => Part::Text(task.shown_subject().to_lowercase()),
            SortKey::Owner => task.owner().map_or(Part::Last, |owner| Part::Text(owner.to_lowercase())),
            SortKey::Due => number(task.due().map(|due| due.0)),
            SortKey::Defer => Part::Number(task.defer().map_or(i64::MIN, |defer| defer.0)),
            SortKey::Estimate => number(task.estimate().and_then(|span| i64::try_from(span.as_millis()).ok())),
            SortKey::Age => number(around.times(task).map(|times| times.created.0)),
            SortKey::Changed => number(around.times(task).map(|times| -times.updated.0)),
        };
        Value { part, is_reversed: self.is_reversed }
    }
}

/// The value of a task for one key.
#[derive(PartialEq, Eq)]
enum Part {
    Number(i64),
    Text(String),
    /// No value. Comes last in both directions.
    Last,
}

#[derive(PartialEq, Eq)]
struct Value {
    part: Part,
    is_reversed: bool,
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = match (&self.part, &other.part) {
            (Part::Number(one), Part::Number(two)) => one.cmp(two),
            (Part::Text(one), Part::Text(two)) => one.cmp(two),
            (Part::Last, Part::Last) => Ordering::Equal,
            (Part::Last, _) => return Ordering::Greater,
            (_, Part::Last) => return Ordering::Less,
            (Part::Number(_), Part::Text(_)) => Ordering::Less,
            (Part::Text(_), Part::Number(_)) => Ordering::Greater,
        };
        if self.is_reversed { order.reverse() } else { order }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{sort_as_the_client, sort_for_display};
    use crate::{ClientVersion, Status, Task, TaskId};

    fn tasks(ids: &[&str]) -> Vec<Task> {
        ids.iter().map(|id| Task::new(TaskId::stored(*id), "x")).collect()
    }

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn what_is_in_progress_is_shown_first_and_each_state_by_number() {
        let mut list = tasks(&["2", "10", "abc", "1", "3", "4"]);
        list[0].status = Status::Completed;
        list[3].status = Status::InProgress;
        sort_for_display(&mut list);
        assert_eq!(ids(&list), ["1", "3", "4", "10", "abc", "2"]);
    }

    #[test]
    fn the_older_client_lists_by_file_name() {
        let mut list = tasks(&["1", "2", "10", "abc", "1-x", "12x"]);
        sort_as_the_client(&mut list, ClientVersion::V2_1_34);
        assert_eq!(ids(&list), ["1-x", "1", "10", "12x", "2", "abc"]);
    }

    #[test]
    fn the_newer_client_lists_by_number_after_names_that_are_none() {
        let mut list = tasks(&["1", "10", "12x", "2", "abc", "-3"]);
        sort_as_the_client(&mut list, ClientVersion::V2_1_325);
        assert_eq!(ids(&list), ["12x", "abc", "-3", "1", "2", "10"]);
    }
}
