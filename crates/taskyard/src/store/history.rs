//! Queries on the journal of a list, and reading the results page by page.

use taskyard_core::{AttemptId, Entry, ListId, Op, Revision, TaskId, Timestamp};

use super::error::StoreError;

/// Selects a part of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only entries of this task.
    pub task: Option<TaskId>,
    /// Only entries after this revision.
    pub since: Revision,
    /// Only entries up to this revision.
    pub until: Option<Revision>,
    /// Only entries of these operations; empty means all.
    pub ops: Vec<Op>,
    /// Only entries that created a task that did not exist before.
    pub only_arrivals: bool,
    /// Only the commit of this attempt.
    pub attempt: Option<AttemptId>,
    /// At most this number of revisions, the newest ones.
    pub newest: Option<usize>,
    /// At most this number of revisions, the oldest ones. A store may return fewer if they are large, but at least one
    /// if there is one: only an empty result means that there are no more. [`super::HistoryPages`] reads page after
    /// page.
    pub oldest: Option<usize>,
}

impl HistoryQuery {
    /// Returns whether the query may exclude entries within its range of revisions.
    pub(in crate::store) fn is_choosy(&self) -> bool {
        self.task.is_some() || self.is_choosy_about_deeds()
    }

    /// Returns whether the query depends on what an entry did.
    pub(in crate::store) fn is_choosy_about_deeds(&self) -> bool {
        !self.ops.is_empty() || self.only_arrivals
    }

    /// Returns whether an entry's operation matches the query, ignoring its task.
    pub(in crate::store) fn wants_deed(&self, entry: &Entry) -> bool {
        let is_arrival = entry.before.is_none() && entry.after.is_some();
        (self.ops.is_empty() || self.ops.contains(&entry.op)) && (is_arrival || !self.only_arrivals)
    }
}

/// The last entry about a task, without the task's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastEntry {
    /// The task the entry is about.
    pub task: TaskId,
    /// The commit it belongs to.
    pub revision: Revision,
    /// When it was committed, by the clock of the store.
    pub at: Timestamp,
    /// The operation.
    pub op: Op,
    /// Whether the task existed afterwards.
    pub leaves_task: bool,
}

impl LastEntry {
    /// Creates it from a full entry.
    pub fn of(entry: &Entry) -> Self {
        Self {
            task: entry.task.clone(),
            revision: entry.revision,
            at: entry.at,
            op: entry.op,
            leaves_task: entry.after.is_some(),
        }
    }
}

/// Number of revisions per page.
const PAGE: usize = 256;
/// A revision that no list reaches.
const NEVER: Revision = Revision(1 << 37);

/// A source of journals; implemented by every store.
pub trait HistorySource {
    /// Returns the selected entries, oldest first.
    fn entries(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Returns the newest recorded revision; 0 if there is none, or if it cannot be determined.
    fn newest(&self, list: &ListId) -> Result<Revision, StoreError>;
}

/// A part of the journal in pages of whole revisions, oldest first, so that only one page is in memory.
///
/// Commits made after the start are not included. Nothing is locked between pages, so a reader may take its time:
/// writers continue, and revisions that another process thins out before they are reached are skipped.
#[derive(Debug)]
pub struct HistoryPages<'a, S: HistorySource + ?Sized> {
    store: &'a S,
    list: &'a ListId,
    /// The query for the next page; `None` at the end.
    next: Option<HistoryQuery>,
}

impl<'a, S: HistorySource + ?Sized> HistoryPages<'a, S> {
    /// Starts reading the selected entries, up to the present.
    pub fn of(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Result<Self, StoreError> {
        let next = newest_of(store, list)?.map(|newest| paged(query, newest));
        Ok(Self { store, list, next })
    }

    /// Starts reading the selected entries that are already recorded: for a caller that has just read the list.
    pub(crate) fn of_what_is_recorded(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Result<Self, StoreError> {
        match store.newest(list)? {
            Revision(0) => Self::of(store, list, query),
            newest => Ok(Self { store, list, next: Some(paged(query, newest)) }),
        }
    }
}

/// Returns the query for the first page, up to a revision.
fn paged(query: HistoryQuery, newest: Revision) -> HistoryQuery {
    let until = query.until.map_or(newest, |until| until.min(newest));
    HistoryQuery { until: Some(until), oldest: Some(PAGE), ..query }
}

/// Returns the newest revision, after recording changes by other programs. That revision may have as many entries as
/// the list has tasks, so its entries are not read unless necessary.
fn newest_of<S: HistorySource + ?Sized>(store: &S, list: &ListId) -> Result<Option<Revision>, StoreError> {
    store.entries(list, &HistoryQuery { since: NEVER, ..HistoryQuery::default() })?;
    match store.newest(list)? {
        // There is none, or it cannot be determined; in the latter case this query returns the error.
        Revision(0) => {
            let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
            Ok(store.entries(list, &newest)?.last().map(|entry| entry.revision))
        }
        newest => Ok(Some(newest)),
    }
}

impl<S: HistorySource + ?Sized> Iterator for HistoryPages<'_, S> {
    type Item = Result<Vec<Entry>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let query = self.next.take()?;
        let page = match self.store.entries(self.list, &query) {
            Ok(page) => page,
            Err(error) => return Some(Err(error)),
        };
        let last = page.last()?.revision;
        if Some(last) != query.until {
            // The first page began with the oldest of the `newest` revisions; further pages continue from there.
            self.next = Some(HistoryQuery { since: last, newest: None, ..query });
        }
        Some(Ok(page))
    }
}

/// Number of revisions in the first page, the factor by which pages grow, and the maximum.
const FIRST: usize = 4;
const MORE: usize = 4;
const MOST: usize = 64;

/// A part of the journal in pages of whole revisions, newest page first, with the oldest entry first within a page: for
/// a caller that expects to find its entry near the end.
#[derive(Debug)]
pub struct HistoryBackwards<'a, S: HistorySource + ?Sized> {
    store: &'a S,
    list: &'a ListId,
    count: usize,
    /// The query for the next page; `None` at the beginning of the journal.
    next: Option<HistoryQuery>,
}

impl<'a, S: HistorySource + ?Sized> HistoryBackwards<'a, S> {
    /// Starts with the newest selected entries.
    pub fn of(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Self {
        Self { store, list, count: FIRST, next: Some(query) }
    }

    /// Returns whether the beginning of the journal was reached.
    pub(crate) fn is_at_beginning(&self) -> bool {
        self.next.is_none()
    }
}

impl<S: HistorySource + ?Sized> Iterator for HistoryBackwards<'_, S> {
    type Item = Result<Vec<Entry>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let query = HistoryQuery { newest: Some(self.count), ..self.next.take()? };
        let page = match self.store.entries(self.list, &query) {
            Ok(page) => page,
            Err(error) => return Some(Err(error)),
        };
        let first = page.first()?.revision;
        let revisions = page.chunk_by(|one, other| one.revision == other.revision).count();
        if revisions == self.count && first > query.since.next() {
            self.next = Some(HistoryQuery { until: Some(Revision(first.0 - 1)), ..query });
            self.count = (self.count * MORE).min(MOST);
        }
        Some(Ok(page))
    }
}
