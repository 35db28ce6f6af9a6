//! Evaluates a query for a task.

use std::collections::HashMap;
use std::time::Duration;

pub use crate::dialect::hook_input::Times;
use crate::rules::agents::is_same_agent;
use crate::rules::graph::dependencies::OpenTasks;
use crate::rules::looking::query::query_condition::{Comparison, Condition, Needle, Property, Query, StateTerm, Term};
use crate::task::notes_of;
use crate::timing::{Clock, When};
use crate::{Rules, Task, TaskId, Timestamp};

/// What a query needs to know besides the task itself.
pub trait Surroundings {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Returns whether a task can start now.
    fn is_ready(&self, task: &Task) -> bool;
    /// Returns whether a task is open and has open blockers.
    fn is_blocked(&self, task: &Task) -> bool;
    /// Returns when a task was created and last changed, or `None` if that is not known.
    fn times(&self, task: &Task) -> Option<Times>;
}

/// A list as seen by queries, at a fixed time.
#[derive(Debug)]
pub struct ListSurroundings {
    open: OpenTasks,
    now: Timestamp,
    times: HashMap<TaskId, Times>,
    missing: HashMap<TaskId, Vec<TaskId>>,
}

impl ListSurroundings {
    /// Indexes a list.
    pub fn of(tasks: &[Task], now: Timestamp, rules: Rules) -> Self {
        let open = OpenTasks::of(tasks, rules);
        Self { open, now, times: HashMap::new(), missing: HashMap::new() }
    }

    /// Indexes a list only as far as the query needs it.
    pub fn asked(tasks: &[Task], query: &Query, now: Timestamp, rules: Rules) -> Self {
        Self::of(if query.asks_for_others() { tasks } else { &[] }, now, rules)
    }

    /// Adds the times at which tasks were created and last changed.
    #[must_use]
    pub fn with_times(self, times: HashMap<TaskId, Times>) -> Self {
        Self { times, ..self }
    }

    /// Adds the missing blockers of open tasks, for stores in which those block too.
    #[must_use]
    pub fn with_missing(self, missing: HashMap<TaskId, Vec<TaskId>>) -> Self {
        Self { missing, ..self }
    }

    /// Returns the open blockers of a task, and the missing ones if those block in this store.
    pub(crate) fn blockers(&self, task: &Task) -> Vec<TaskId> {
        let mut blockers = self.open.blockers(task);
        blockers.extend(self.missing.get(&task.id).into_iter().flatten().cloned());
        blockers
    }
}

impl Surroundings for ListSurroundings {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn is_ready(&self, task: &Task) -> bool {
        !self.missing.contains_key(&task.id) && self.open.is_ready(task, self.now)
    }

    fn is_blocked(&self, task: &Task) -> bool {
        task.status.is_open() && (self.missing.contains_key(&task.id) || self.open.has_blockers(task))
    }

    fn times(&self, task: &Task) -> Option<Times> {
        self.times.get(&task.id).copied()
    }
}

impl Query {
    /// Returns whether the query matches a task.
    pub fn is_true_of(&self, task: &Task, around: &impl Surroundings) -> bool {
        self.is_true_with(task, around, &mut |needle| needle.is_in_task(task))
    }

    /// Returns whether the query matches a task, if a status is asked for separately: `due:` then matches closed tasks
    /// too.
    pub(crate) fn is_true_beside_status(&self, task: &Task, around: &impl Surroundings) -> bool {
        let asked = Asked { query: self, counts_closed: true };
        self.root.is_true(task, around, asked, &mut |needle| needle.is_in_task(task))
    }

    /// Returns whether the query matches a task, using `finds` to match texts.
    pub(crate) fn is_true_with(
        &self,
        task: &Task,
        around: &impl Surroundings,
        finds: &mut dyn FnMut(&Needle) -> bool,
    ) -> bool {
        self.root.is_true(task, around, Asked { query: self, counts_closed: self.asks_for_status() }, finds)
    }
}

/// The query that a term belongs to.
#[derive(Clone, Copy)]
struct Asked<'a> {
    query: &'a Query,
    /// Whether closed tasks match by their dates.
    counts_closed: bool,
}

impl Asked<'_> {
    /// Returns whether a date of a task compares as asked.
    fn holds(self, task: &Task, has: Option<Timestamp>, asked: (Comparison, &When), now: Timestamp) -> bool {
        let Some(has) = has.filter(|_| self.counts_closed || task.status.is_open()) else { return false };
        let (comparison, when) = asked;
        let clock = Clock::new(now, self.query.zone.clone());
        when.period(&clock).is_some_and(|(first, last)| match comparison {
            Comparison::Less => has < first,
            Comparison::AtMost => has <= last,
            Comparison::Same => (first..=last).contains(&has),
            Comparison::AtLeast => has >= first,
            Comparison::More => has > last,
        })
    }
}

impl Condition {
    fn is_true(
        &self,
        task: &Task,
        around: &impl Surroundings,
        asked: Asked<'_>,
        finds: &mut dyn FnMut(&Needle) -> bool,
    ) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|condition| condition.is_true(task, around, asked, finds)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.is_true(task, around, asked, finds)),
            Self::Not(condition) => !condition.is_true(task, around, asked, finds),
            Self::Is(Term::Text(needle)) => finds(needle),
            Self::Is(term) => term.is_true(task, around, asked),
        }
    }
}

impl Term {
    fn is_true(&self, task: &Task, around: &impl Surroundings, asked: Asked<'_>) -> bool {
        match self {
            Self::State(StateTerm::Is(status)) => task.status == *status,
            Self::State(StateTerm::Open) => task.status.is_open(),
            Self::State(StateTerm::Cancelled) => task.is_cancelled(),
            Self::State(StateTerm::Blocked) | Self::Blocked => around.is_blocked(task),
            Self::Priority(comparison, priority) => comparison.holds(&task.priority(), priority),
            Self::Tag(tag) => task.tags().any(|other| other == tag),
            Self::Owner(owner) => task.owner().is_some_and(|other| is_same_agent(other, owner)),
            Self::Parent(parent) => task.parent().is_some_and(|other| other == *parent),
            Self::Id(first, last) => is_between(&task.id, first, last),
            Self::Kind(kind) => task.meta("kind").and_then(|value| value.as_str()) == Some(kind),
            Self::Project(project) => is_below(task.meta("project").and_then(|value| value.as_str()), project),
            Self::Ready => around.is_ready(task),
            Self::Overdue => task.is_overdue(around.now()),
            Self::Deferred => task.is_deferred(around.now()),
            Self::Age(comparison, span) => {
                let age = around.times(task).map(|times| since(times.created, around.now()));
                age.is_some_and(|age| comparison.holds(&age, span))
            }
            Self::Changed(comparison, span) => {
                let age = around.times(task).map(|times| since(times.updated, around.now()));
                age.is_some_and(|age| comparison.holds(&age, span))
            }
            Self::Has(property) => property.is_of(task),
            Self::Due(comparison, when) => asked.holds(task, task.due(), (*comparison, when), around.now()),
            Self::Defer(comparison, when) => asked.holds(task, task.defer(), (*comparison, when), around.now()),
            Self::Estimate(comparison, span) => {
                let asked = span.with_days_of(asked.query.working_day);
                task.estimate().is_some_and(|estimate| comparison.holds(&estimate, &asked))
            }
            Self::Text(needle) => needle.is_in_task(task),
        }
    }
}

impl Property {
    fn is_of(self, task: &Task) -> bool {
        match self {
            Self::Due => task.due().is_some(),
            Self::Defer => task.defer().is_some(),
            Self::Estimate => task.estimate().is_some(),
            Self::Owner => task.owner().is_some(),
            Self::Tag => task.tags().next().is_some(),
            Self::Note => !notes_of(task).is_empty(),
            Self::Parent => task.parent().is_some(),
            Self::Kind => has_text(task, "kind"),
            Self::Project => has_text(task, "project"),
            Self::Priority => task.stated_priority().is_some(),
            Self::Description => !task.description.trim().is_empty(),
        }
    }
}

fn has_text(task: &Task, key: &str) -> bool {
    task.meta(key).is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()))
}

/// Returns whether a project equals another or is below it: `rocket.engine` is below `rocket`.
fn is_below(has: Option<&str>, asked: &str) -> bool {
    has.and_then(|has| has.strip_prefix(asked)).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns whether an id is a number in this inclusive range, or equals the first id.
fn is_between(id: &TaskId, first: &TaskId, last: &TaskId) -> bool {
    match (id.as_number(), first.as_number(), last.as_number()) {
        (Some(number), Some(first), Some(last)) => (first..=last).contains(&number),
        _ => id == first,
    }
}

/// Returns how long ago a time was, or zero if it is in the future.
fn since(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(now.0.saturating_sub(moment.0)).unwrap_or(0))
}
