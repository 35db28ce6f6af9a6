//! In which order chosen tasks come, where a caller says so.

use std::cmp::Ordering;
use std::str::FromStr;

use super::matching::Surroundings;
use crate::near_miss::nearest;
use crate::rules::looking::ordering::NumberOrder;
use crate::{Status, Task};

/// What tasks can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// By number, then by name.
    Id,
    /// The most urgent first.
    Priority,
    /// In progress, pending, completed.
    Status,
    /// By title.
    Subject,
    /// By owner; what has no owner comes last.
    Owner,
    /// What is due first comes first; what is not due comes last.
    Due,
    /// What may start first comes first; what may start at any time comes before that.
    Defer,
    /// The shortest first; what has no estimate comes last.
    Estimate,
    /// The oldest first.
    Age,
    /// What changed last comes first.
    Changed,
}

/// One key to sort by, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortOrder {
    /// The key.
    pub(crate) key: SortKey,
    /// Whether the other way round.
    pub(crate) is_reversed: bool,
}

/// A word by which tasks cannot be sorted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tasks cannot be sorted by `{}`{}", .word.escape_debug(), in_words(*.meant))]
pub struct UnknownSortKey {
    /// What was given.
    pub(crate) word: String,
    /// What was meant.
    pub(crate) meant: Option<&'static str>,
}

fn in_words(meant: Option<&str>) -> String {
    let words = SortKey::WORDS.map(|(word, _)| word).join(", ");
    meant.map_or_else(|| format!("; use {words}"), |meant| format!("; did you mean `{meant}`?"))
}

impl SortKey {
    /// Every key with its word.
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

    /// Tells whether only the journal knows the order.
    pub(crate) fn asks_for_times(self) -> bool {
        matches!(self, Self::Age | Self::Changed)
    }
}

impl FromStr for SortOrder {
    type Err = UnknownSortKey;

    /// Reads a key; a `-` before it turns it round.
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
    /// Sorts tasks by the first key, where it says nothing by the second, and so on, and then as they stand.
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

/// What a task has of one key.
#[derive(PartialEq, Eq)]
enum Part {
    Number(i64),
    Text(String),
    /// It has nothing of it, and comes last in both directions.
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
