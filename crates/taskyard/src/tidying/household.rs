//! Our memory of all lists, and how long of it is kept.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use taskyard_core::TaskId;
use taskyard_core::rules::history::elapsed::{ClockDoubt, ClockTrust};

use super::time_count::{CountFile, doubt, look};
use crate::store::{
    ListMemory, Pace, StoreError, TidiedJournal, TidyTerms, TimeCount, finish_putting_away, list_memories,
};

/// What we remember on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Household {
    /// Our data directory.
    pub data: PathBuf,
    /// For how long everything is kept.
    pub keep: Duration,
    /// How large the journal of a list may get before it is thinned out earlier.
    pub max_size: u64,
}

/// Tasks that may go because the caller named them, although no agent deleted them on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Our directory for their list.
    pub sidecar: Option<PathBuf>,
    /// The tasks.
    pub tasks: HashSet<TaskId>,
}

/// What tidying did to our memory of one list, or would do.
#[derive(Debug)]
pub struct TidiedList {
    /// Our memory of it, as it was before.
    pub memory: ListMemory,
    /// What was done; none where there is no journal.
    pub done: Result<Option<TidiedJournal>, StoreError>,
}

impl Household {
    /// Reads the clock, and counts the time that has passed.
    pub fn count_time(&self) -> Result<TimeCount, StoreError> {
        let counted = CountFile::open(&self.data).and_then(CountFile::count).map(|(count, _)| count);
        counted.map_err(StoreError::io("cannot count the time in", &self.data))
    }

    /// Reads the clock, and counts all the time that has passed by it, because the user vouches for the clock.
    pub fn confirm_time(&self) -> Result<TimeCount, StoreError> {
        let confirmed = CountFile::open(&self.data).and_then(CountFile::confirm);
        confirmed.map_err(StoreError::io("cannot count the time in", &self.data))
    }

    /// Returns the doubt for which tidying waits; none where nothing has been tidied yet.
    pub fn clock_doubt(&self) -> Option<ClockDoubt> {
        doubt(&self.data)
    }

    /// Returns what counting the time would give, and counts nothing.
    pub fn try_to_count_time(&self, trust: ClockTrust) -> TimeCount {
        look(&self.data, trust)
    }

    /// Tidies our memory of every list, of whichever store. One that cannot be tidied does not keep us from the others.
    pub fn tidy(&self, count: &TimeCount, named: &Named) -> Vec<TidiedList> {
        finish_putting_away(&self.data);
        self.each(named, |memory, named| memory.tidy(&self.terms(count, Pace::unhurried()), named))
    }

    /// Returns what tidying would do.
    pub fn try_to_tidy(&self, count: &TimeCount, named: &Named) -> Vec<TidiedList> {
        self.each(named, |memory, named| memory.try_tidy(&self.terms(count, Pace::unhurried()), named))
    }

    fn each(
        &self,
        named: &Named,
        tidy: impl Fn(&ListMemory, &HashSet<TaskId>) -> Result<Option<TidiedJournal>, StoreError>,
    ) -> Vec<TidiedList> {
        let nobody = HashSet::new();
        let tidied = |memory: ListMemory| {
            let is_named = named.sidecar.as_ref() == Some(&memory.sidecar);
            let done = tidy(&memory, if is_named { &named.tasks } else { &nobody });
            TidiedList { memory, done }
        };
        list_memories(&self.data).into_iter().map(tidied).collect()
    }

    pub(super) fn terms(&self, count: &TimeCount, pace: Pace) -> TidyTerms {
        TidyTerms { keep: self.keep, count: count.clone(), max_size: self.max_size, pace }
    }
}
