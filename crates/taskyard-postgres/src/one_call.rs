//! One call of an agent, on one thread: what it may answer from memory.
//!
//! Before the first round trip of a call, a question about something that changes seldom is answered as the newest known count says, and
//! the call remembers that count. The first round trip returns the counts as they are. If they are others, the call is outdated: every
//! further question fails with a conflict, nothing is written, and the caller makes the call again. If they are the same, they count for the
//! rest of the call. So the answer of a call is right for a moment within the call, whether or not notifications arrive.

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
use crate::epoch::Stamp;
use crate::versions::{Kind, Version, Versions};

/// How long the answer of a round trip counts for the rest of its call. A call that takes longer waits for something, which changes things.
const FRESH: Duration = Duration::from_secs(15);

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// What tells one database of this process from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseNumber(u64);

/// Takes in the rows of each question, and the stamp of the transaction.
pub(crate) type TakeAnswers = Box<dyn FnOnce(&[Vec<Row>], &Stamp)>;

/// Questions that the first round trip of a call asks along with its own.
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
    /// The list of which the call has to do with few tasks, and these tasks.
    few: Option<FewTasks>,
    /// What was read around these tasks.
    around: Option<Arc<ListState>>,
    /// The directory of a list that was found to exist.
    existing: Option<String>,
}

/// Few tasks of a list, which is named by its directory.
#[derive(Clone, Debug)]
pub(crate) struct FewTasks {
    pub(crate) directory: String,
    pub(crate) tasks: Vec<TaskId>,
}

/// Ends the call of this thread when it is dropped.
#[derive(Debug)]
pub(crate) struct CallGuard {
    /// A thread cannot end another thread's call.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl DatabaseNumber {
    /// Returns a new one.
    pub(crate) fn new() -> Self {
        Self(next_number())
    }

    /// Begins a call on this thread; `None` if one has begun.
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

    /// Tells whether this thread is in a call that is outdated.
    pub(crate) fn is_outdated(self) -> bool {
        self.in_call(|call| call.is_outdated).unwrap_or(false)
    }

    /// Tells whether this thread is in a call that answered something from memory which no round trip has confirmed.
    pub(crate) fn has_assumed(self) -> bool {
        self.in_call(|call| call.confirmed.is_none() && !call.assumed.is_empty()).unwrap_or(false)
    }

    /// Returns the count at which something has to have been read to be answered from memory; `None` if the database has to be asked.
    /// `newest` is the newest count that is known.
    pub(crate) fn counts_at(self, kind: Kind, newest: Option<Version>) -> Option<Version> {
        self.in_call(|call| match &call.confirmed {
            Some((versions, at)) if at.elapsed() < FRESH => versions.as_ref().map(|versions| versions.of(kind)),
            Some(_) => None,
            None => newest,
        })?
    }

    /// Takes note that something was answered from memory.
    pub(crate) fn assume(self, kind: Kind, version: &Version) {
        self.in_call(|call| {
            if call.confirmed.is_none() && !call.assumed.iter().any(|(assumed, _)| *assumed == kind) {
                call.assumed.push((kind, version.clone()));
            }
        });
    }

    /// Takes in what a round trip of this thread says; returns false if its call is outdated by that.
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

    /// Returns the number of the call that this thread is in, if a round trip was made in it a moment ago.
    pub(crate) fn confirmed_call(self) -> Option<u64> {
        let is_fresh = |call: &Call| call.confirmed.as_ref().is_some_and(|(_, at)| at.elapsed() < FRESH);
        self.in_call(|call| is_fresh(call).then_some(call.number))?
    }

    /// Returns what the first round trip of this thread's call asks along, once.
    pub(crate) fn take_along(self) -> Option<Along> {
        self.in_call(|call| call.along.take())?
    }

    /// Returns the few tasks of a list that this thread's call has to do with; `None` if it may be all.
    pub(crate) fn few_tasks(self, directory: &str) -> Option<Vec<TaskId>> {
        self.in_call(|call| call.few.as_ref().filter(|few| few.directory == directory).map(|few| few.tasks.clone()))?
    }

    /// Keeps what was read around the few tasks of this thread's call.
    pub(crate) fn keep_around(self, around: Arc<ListState>) {
        self.in_call(|call| call.around = Some(around));
    }

    /// Returns it, once.
    pub(crate) fn take_around(self) -> Option<Arc<ListState>> {
        self.in_call(|call| call.around.take())?
    }

    /// Takes note that this thread's call has found a list to exist.
    pub(crate) fn note_existing(self, directory: &str) {
        self.in_call(|call| call.existing = Some(directory.to_owned()));
    }

    /// Tells whether this thread's call has found a list to exist. Lists stay, once they have come.
    pub(crate) fn has_found(self, directory: &str) -> bool {
        self.in_call(|call| call.existing.as_deref() == Some(directory)).unwrap_or(false)
    }

    /// Keeps a part of a list's journal for the rest of this thread's call.
    pub(crate) fn keep_journal(self, directory: &str, query: HistoryQuery, entries: Vec<Entry>) {
        self.in_call(|call| call.journals.push((directory.to_owned(), query, entries)));
    }

    /// Returns a part of a list's journal that was kept, once.
    pub(crate) fn take_journal(self, directory: &str, query: &HistoryQuery) -> Option<Vec<Entry>> {
        self.in_call(|call| {
            let is_it = |(of, asked, _): &(String, HistoryQuery, Vec<Entry>)| of == directory && asked == query;
            let place = call.journals.iter().position(is_it)?;
            Some(call.journals.swap_remove(place).2)
        })?
    }

    /// Has the rest of this thread's call ask for everything: something that it read has changed.
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
