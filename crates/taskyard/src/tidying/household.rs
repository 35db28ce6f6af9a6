//! Our memory of all lists, and how long of it is kept.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use taskyard_core::{TaskId, Timestamp};

use crate::clock;
use crate::store::{ListMemory, Pace, StoreError, TidiedJournal, TidyTerms, finish_putting_away, list_memories};

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
    /// Tidies our memory of every list, of whichever store. One that cannot be tidied does not keep us from the others.
    pub fn tidy(&self, named: &Named) -> Vec<TidiedList> {
        finish_putting_away(&self.data);
        self.each(named, |memory, named| memory.tidy(&self.terms(Pace::unhurried()), named))
    }

    /// Returns what tidying would do.
    pub fn try_to_tidy(&self, named: &Named) -> Vec<TidiedList> {
        self.each(named, |memory, named| memory.try_tidy(&self.terms(Pace::unhurried()), named))
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

    /// Returns the moment before which everything is old.
    pub fn old_before(&self) -> Timestamp {
        let keep = i64::try_from(self.keep.as_millis()).unwrap_or(i64::MAX);
        Timestamp(clock::now().0.saturating_sub(keep))
    }

    pub(super) fn terms(&self, pace: Pace) -> TidyTerms {
        TidyTerms { keep: self.keep, max_size: self.max_size, pace }
    }
}
