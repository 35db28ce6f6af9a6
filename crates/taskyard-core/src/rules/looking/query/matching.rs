//! Whether a query is true of a task.

use std::collections::HashMap;
use std::time::Duration;

use super::condition::{Comparison, Condition, Property, Query, StateTerm, Term};
use super::texts::Needle;
pub use crate::dialect::hook_input::Times;
use crate::note::notes_of;
use crate::rules::agents::naming::is_same_agent;
use crate::rules::graph::open_tasks::OpenTasks;
use crate::timing::{Clock, When};
use crate::{Rules, Task, TaskId, Timestamp};

/// What a query may ask of a task beside the task itself.
pub trait Surroundings {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
    /// Tells whether a task can start now.
    fn is_ready(&self, task: &Task) -> bool;
    /// Tells whether a task is open and waits for others.
    fn is_blocked(&self, task: &Task) -> bool;
    /// Returns when a task was made and last changed, where that is known.
    fn times(&self, task: &Task) -> Option<Times>;
}

/// A list as queries see it.
#[derive(Debug)]
pub struct ListSurroundings {
    open: OpenTasks,
    now: Timestamp,
    times: HashMap<TaskId, Times>,
    missing: HashMap<TaskId, Vec<TaskId>>,
}

impl ListSurroundings {
    /// Takes in a list at a moment.
    pub fn of(tasks: &[Task], now: Timestamp, rules: Rules) -> Self {
        let open = OpenTasks::of(tasks, rules);
        Self { open, now, times: HashMap::new(), missing: HashMap::new() }
    }

    /// Takes in as much of a list as a query asks for.
    pub fn asked(tasks: &[Task], query: &Query, now: Timestamp, rules: Rules) -> Self {
        Self::of(if query.asks_for_others() { tasks } else { &[] }, now, rules)
    }

    /// Adds when tasks were made and last changed.
    #[must_use]
    pub fn with_times(self, times: HashMap<TaskId, Times>) -> Self {
        Self { times, ..self }
    }

    /// Adds the tasks that open ones wait for and that do not exist, where the store counts those.
    #[must_use]
    pub fn with_missing(self, missing: HashMap<TaskId, Vec<TaskId>>) -> Self {
        Self { missing, ..self }
    }

    /// Returns what holds a task up: open tasks, and those that do not exist, where the store counts those.
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
    /// Tells whether the query is true of a task.
    pub fn is_true_of(&self, task: &Task, around: &impl Surroundings) -> bool {
        self.is_true_with(task, around, &mut |needle| needle.is_in_task(task))
    }

    /// Tells whether the query is true of a task, asked together with a status: `due:` then counts closed tasks too.
    pub(crate) fn is_true_beside_status(&self, task: &Task, around: &impl Surroundings) -> bool {
        let asked = Asked { query: self, counts_closed: true };
        self.root.is_true(task, around, asked, &mut |needle| needle.is_in_task(task))
    }

    /// Tells whether the query is true of a task, in which texts are found as `finds` finds them.
    pub(crate) fn is_true_with(
        &self,
        task: &Task,
        around: &impl Surroundings,
        finds: &mut dyn FnMut(&Needle) -> bool,
    ) -> bool {
        self.root.is_true(task, around, Asked { query: self, counts_closed: self.asks_for_status() }, finds)
    }
}

/// The query to which a term belongs.
#[derive(Clone, Copy)]
struct Asked<'a> {
    query: &'a Query,
    /// Whether closed tasks have due dates.
    counts_closed: bool,
}

impl Asked<'_> {
    /// Tells whether a moment that a task has lies in the days that are asked for, or compares like this.
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
            Self::Kind => task.meta("kind").is_some_and(|kind| kind.as_str().is_some_and(|kind| !kind.is_empty())),
            Self::Priority => task.stated_priority().is_some(),
            Self::Description => !task.description.trim().is_empty(),
        }
    }
}

/// Tells whether an id is one of two or a number between them.
fn is_between(id: &TaskId, first: &TaskId, last: &TaskId) -> bool {
    match (id.as_number(), first.as_number(), last.as_number()) {
        (Some(number), Some(first), Some(last)) => (first..=last).contains(&number),
        _ => id == first,
    }
}

/// Returns how long ago a moment was; one that is yet to come was no time ago.
fn since(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(now.0.saturating_sub(moment.0)).unwrap_or(0))
}
