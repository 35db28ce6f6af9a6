//! One call of an agent on one thread, and what it may answer from memory.
//!
//! Before its first round trip, a call answers a query about data that seldom changes from memory, assuming that the
//! newest known count is current, and records that count. The first round trip returns the actual counts. If they
//! differ, the call is outdated: all further queries fail with a conflict, nothing is written, and the caller
//! retries. If they match, they stay valid for the rest of the call. So the result of a call was true at some moment
//! within the call, whether or not notifications arrive.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use taskyard::core::{Entry, TaskId};
use taskyard::store::HistoryQuery;
use taskyard::store::kit::ListState;
use tokio_postgres::Row;

use crate::connecting::Statement;
use crate::server_clock::Stamp;
use crate::versions::{Kind, Version, Versions};

/// How long the counts of the first round trip stay valid within a call. A longer call is waiting for something, so
/// data changes meanwhile.
const FRESH: Duration = Duration::from_secs(15);

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// Identifies a database within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseNumber(u64);

/// Receives the rows of each query and the stamp of the transaction.
pub(crate) type TakeAnswers = Box<dyn FnOnce(&[Vec<Row>], &Stamp)>;

/// Queries that the first round trip of a call sends along with its own.
pub(crate) struct Along {
    pub(crate) questions: Box<dyn Fn() -> Vec<Statement>>,
    pub(crate) answer: TakeAnswers,
}

struct Call {
    database: DatabaseNumber,
    number: u64,
    assumed: Vec<(Kind, Version)>,
    /// The counts of the first round trip, and when it was made.
    confirmed: Option<(Option<Versions>, Instant)>,
    is_outdated: bool,
    along: Option<Along>,
    journals: Vec<(String, HistoryQuery, Vec<Entry>)>,
    /// If the call concerns only a few tasks of a list: that list and those tasks.
    few: Option<FewTasks>,
    /// Those tasks and the ones connected to them, as read.
    around: Option<Arc<ListState>>,
    /// The directory of a list that is known to exist.
    existing: Option<String>,
}

/// A few tasks of a list, which is identified by its directory.
#[derive(Clone, Debug)]
pub(crate) struct FewTasks {
    pub(crate) directory: String,
    pub(crate) tasks: Vec<TaskId>,
}

/// Ends this thread's call on drop.
#[derive(Debug)]
pub(crate) struct CallGuard {
    /// A thread cannot end another thread's call.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl DatabaseNumber {
    pub(crate) fn new() -> Self {
        Self(next_number())
    }

    /// Begins a call on this thread; returns `None` if one has already begun.
    pub(crate) fn begin_call(self, along: Option<Along>, few: Option<FewTasks>) -> Option<CallGuard> {
        CALL.with_borrow_mut(|call| {
            if call.is_some() {
                return None;
            }
            let (assumed, journals) = (Vec::new(), Vec::new());
            let (confirmed, is_outdated, number) = (None, false, next_number());
            let (around, existing) = (None, None);
            *call = Some(Call {
                database: self,
                number,
                assumed,
                confirmed,
                is_outdated,
                along,
                journals,
                few,
                around,
                existing,
            });
            Some(CallGuard { _not_send: std::marker::PhantomData })
        })
    }

    fn in_call<T>(self, answer: impl FnOnce(&mut Call) -> T) -> Option<T> {
        CALL.with_borrow_mut(|call| call.as_mut().filter(|call| call.database == self).map(answer))
    }

    /// Returns whether this thread's call is outdated.
    pub(crate) fn is_outdated(self) -> bool {
        self.in_call(|call| call.is_outdated).unwrap_or(false)
    }

    /// Returns whether this thread's call relies on cached answers that no round trip has confirmed yet.
    pub(crate) fn has_assumed(self) -> bool {
        self.in_call(|call| call.confirmed.is_none() && !call.assumed.is_empty()).unwrap_or(false)
    }

    /// Returns the count that a cached answer must have to be used, or `None` if the database must be asked. `newest`
    /// is the newest known count.
    pub(crate) fn counts_at(self, kind: Kind, newest: Option<Version>) -> Option<Version> {
        self.in_call(|call| match &call.confirmed {
            Some((versions, at)) if at.elapsed() < FRESH => versions.as_ref().map(|versions| versions.of(kind)),
            Some(_) => None,
            None => newest,
        })?
    }

    /// Records that a cached answer was used.
    pub(crate) fn assume(self, kind: Kind, version: &Version) {
        self.in_call(|call| {
            if call.confirmed.is_none() && !call.assumed.iter().any(|(assumed, _)| *assumed == kind) {
                call.assumed.push((kind, version.clone()));
            }
        });
    }

    /// Confirms the call with the stamp of a round trip. Returns false if that proves the call outdated.
    pub(crate) fn confirm(self, stamp: &Stamp) -> bool {
        self.in_call(|call| {
            let versions = stamp.versions.clone();
            if call.confirmed.is_none() {
                let holds = |(kind, assumed): &(Kind, Version)| {
                    versions.as_ref().is_some_and(|versions| versions.of(*kind) == *assumed)
                };
                call.is_outdated = !call.assumed.iter().all(holds);
            }
            call.confirmed = Some((versions, Instant::now()));
            !call.is_outdated
        })
        .unwrap_or(true)
    }

    /// Returns the number of this thread's call if a recent round trip confirmed it.
    pub(crate) fn confirmed_call(self) -> Option<u64> {
        let is_fresh = |call: &Call| call.confirmed.as_ref().is_some_and(|(_, at)| at.elapsed() < FRESH);
        self.in_call(|call| is_fresh(call).then_some(call.number))?
    }

    /// Takes the queries to send along with the first round trip. Returns them only once.
    pub(crate) fn take_along(self) -> Option<Along> {
        self.in_call(|call| call.along.take())?
    }

    /// Returns the few tasks of a list that this thread's call concerns, or `None` if it may concern all.
    pub(crate) fn few_tasks(self, directory: &str) -> Option<Vec<TaskId>> {
        self.in_call(|call| call.few.as_ref().filter(|few| few.directory == directory).map(|few| few.tasks.clone()))?
    }

    /// Keeps what was read around the few tasks of this thread's call.
    pub(crate) fn keep_around(self, around: Arc<ListState>) {
        self.in_call(|call| call.around = Some(around));
    }

    /// Takes what [`keep_around`](Self::keep_around) kept.
    pub(crate) fn take_around(self) -> Option<Arc<ListState>> {
        self.in_call(|call| call.around.take())?
    }

    /// Records that a list exists, for the rest of this thread's call.
    pub(crate) fn note_existing(self, directory: &str) {
        self.in_call(|call| call.existing = Some(directory.to_owned()));
    }

    /// Returns whether this thread's call has found that a list exists. Lists are never removed once created.
    pub(crate) fn has_found(self, directory: &str) -> bool {
        self.in_call(|call| call.existing.as_deref() == Some(directory)).unwrap_or(false)
    }

    /// Keeps part of a list's journal for the rest of this thread's call.
    pub(crate) fn keep_journal(self, directory: &str, query: HistoryQuery, entries: Vec<Entry>) {
        self.in_call(|call| call.journals.push((directory.to_owned(), query, entries)));
    }

    /// Takes a part of a list's journal that was kept.
    pub(crate) fn take_journal(self, directory: &str, query: &HistoryQuery) -> Option<Vec<Entry>> {
        self.in_call(|call| {
            let is_it = |(of, asked, _): &(String, HistoryQuery, Vec<Entry>)| of == directory && asked == query;
            let place = call.journals.iter().position(is_it)?;
            Some(call.journals.swap_remove(place).2)
        })?
    }

    /// Makes the rest of this thread's call query the database for everything, since something it read has changed.
    pub(crate) fn distrust(self) {
        self.in_call(|call| {
            if let Some((versions, _)) = &mut call.confirmed {
                *versions = None;
            }
            call.number = next_number();
            call.journals.clear();
            (call.around, call.existing) = (None, None);
        });
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        CALL.set(None);
    }
}

impl fmt::Debug for Along {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Along")
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
