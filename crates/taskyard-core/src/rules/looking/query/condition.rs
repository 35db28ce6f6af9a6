//! What a query says.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::texts::Needle;
use crate::timing::{Clock, PartOfDay, WORKING_DAY, When, WorkSpan, parse_moment};
use crate::{Priority, Status, TaskId, Timestamp};

/// What tasks are asked for. The empty query is true of every task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) root: Condition,
    /// The zone in which its days are meant.
    pub(super) zone: TimeZone,
    /// How long a day of an estimate is.
    pub(super) working_day: Duration,
}

impl Default for Query {
    fn default() -> Self {
        Self { root: Condition::default(), zone: TimeZone::UTC, working_day: WORKING_DAY }
    }
}

/// A statement about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// All of these are true; of nothing, all is true.
    All(Vec<Condition>),
    /// One of these is true.
    Any(Vec<Condition>),
    /// This is not true.
    Not(Box<Condition>),
    /// The task is like this.
    Is(Term),
}

impl Default for Condition {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

/// The smallest statement about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// It is in this state.
    State(StateTerm),
    /// Its priority is this one, or compares like this.
    Priority(Comparison, Priority),
    /// It has this tag.
    Tag(String),
    /// This agent owns it.
    Owner(String),
    /// It is a part of this task.
    Parent(TaskId),
    /// It has one of these numbers, both ends counted, or this name.
    Id(TaskId, TaskId),
    /// It is of this kind.
    Kind(String),
    /// It can start now.
    Ready,
    /// It is open and waits for others.
    Blocked,
    /// It is open, and its due date has passed.
    Overdue,
    /// It is open, and is not to start yet.
    Deferred,
    /// It was made this long ago.
    Age(Comparison, Duration),
    /// It last changed this long ago.
    Changed(Comparison, Duration),
    /// It has one of these.
    Has(Property),
    /// It is due on these days, or compares like this; one that is overdue is due before any span has passed. Only of open tasks, unless
    /// the query asks for a status.
    Due(Comparison, When),
    /// It may start on these days, or compares like this. Only of open tasks, unless the query asks for a status.
    Defer(Comparison, When),
    /// It is expected to take this long.
    Estimate(Comparison, WorkSpan),
    /// This text occurs in one of its fields, in any case.
    Text(Needle),
}

/// What a task may have or lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Property {
    Due,
    Defer,
    Estimate,
    Owner,
    Tag,
    Note,
    Parent,
    Kind,
    Priority,
    Description,
}

impl Property {
    /// Every property with its word.
    pub(super) const WORDS: [(&'static str, Self); 10] = [
        ("due", Self::Due),
        ("defer", Self::Defer),
        ("estimate", Self::Estimate),
        ("owner", Self::Owner),
        ("tag", Self::Tag),
        ("note", Self::Note),
        ("parent", Self::Parent),
        ("kind", Self::Kind),
        ("priority", Self::Priority),
        ("description", Self::Description),
    ];
}

/// A state that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateTerm {
    /// Its status.
    Is(Status),
    /// Pending or in progress.
    Open,
    /// Open, and waiting for others.
    Blocked,
    /// Completed without having been done.
    Cancelled,
}

/// How two quantities compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// The task's is less.
    Less,
    /// The task's is less, or the same.
    AtMost,
    /// They are the same.
    Same,
    /// The task's is more, or the same.
    AtLeast,
    /// The task's is more.
    More,
}

impl Comparison {
    /// Compares what a task has with what was asked for.
    pub(super) fn holds<T: Ord>(self, has: &T, asked: &T) -> bool {
        match self {
            Self::Less => has < asked,
            Self::AtMost => has <= asked,
            Self::Same => has == asked,
            Self::AtLeast => has >= asked,
            Self::More => has > asked,
        }
    }
}

impl Query {
    /// Returns what the query says.
    #[cfg(test)]
    pub(crate) fn condition(&self) -> &Condition {
        &self.root
    }

    /// Tells whether the query is true of every task.
    pub fn is_empty(&self) -> bool {
        matches!(&self.root, Condition::All(conditions) if conditions.is_empty())
    }

    /// Returns the query with its days meant in this zone; in UTC otherwise.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Returns the query with days of estimates of this length; with eight hours otherwise.
    #[must_use]
    pub fn with_working_day(self, working_day: Duration) -> Self {
        Self { working_day, ..self }
    }

    /// Tells whether the answer depends on how long a working day is.
    pub fn asks_for_work(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Estimate(..)))
    }

    /// Tells whether the answer depends on the zone in which days are meant.
    pub fn asks_for_days(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Due(..) | Term::Defer(..)))
    }

    /// Returns when the next day begins in the zone of the query, if the answer depends on the day.
    pub(crate) fn next_day(&self, now: Timestamp) -> Option<Timestamp> {
        let clock = Clock::new(now, self.zone.clone());
        if self.asks_for_days() { parse_moment("tomorrow", PartOfDay::Start, &clock).ok() } else { None }
    }

    /// Tells whether the query asks for a status.
    pub(super) fn asks_for_status(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::State(_)))
    }

    /// Returns the texts that are to occur, each once; what is not to occur is left out.
    pub(crate) fn texts(&self) -> Vec<&Needle> {
        let mut found = Vec::new();
        self.root.gather_texts(&mut found);
        found
    }

    /// Tells whether the answer depends on when tasks were made or changed, which only the journal knows.
    pub fn asks_for_times(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Age(..) | Term::Changed(..)))
    }

    /// Tells whether the answer depends on the rest of the list.
    pub fn asks_for_others(&self) -> bool {
        let asks = |term: &Term| matches!(term, Term::Ready | Term::Blocked | Term::State(StateTerm::Blocked));
        self.root.any_term(&asks)
    }
}

impl Condition {
    fn gather_texts<'a>(&'a self, found: &mut Vec<&'a Needle>) {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().for_each(|condition| condition.gather_texts(found));
            }
            Self::Is(Term::Text(needle)) if !found.contains(&needle) => found.push(needle),
            Self::Not(_) | Self::Is(_) => {}
        }
    }

    fn any_term(&self, is_wanted: &impl Fn(&Term) -> bool) -> bool {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().any(|condition| condition.any_term(is_wanted))
            }
            Self::Not(condition) => condition.any_term(is_wanted),
            Self::Is(term) => is_wanted(term),
        }
    }
}
