//! Asking the journal of a list: which part is wanted, and reading it a page at a time.

use taskyard_core::{AttemptId, Entry, ListId, Op, Revision, TaskId, Timestamp};

use super::error::StoreError;

/// Which part of the journal is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only entries of this task.
    pub task: Option<TaskId>,
    /// Only entries after this revision.
    pub since: Revision,
    /// Only entries up to this revision.
    pub until: Option<Revision>,
    /// Only entries of these verbs; of every verb where none is named.
    pub ops: Vec<Op>,
    /// Only entries by which a task came that was not there before.
    pub only_arrivals: bool,
    /// Only the commit of this attempt.
    pub attempt: Option<AttemptId>,
    /// At most so many revisions of those, the newest.
    pub newest: Option<usize>,
    /// At most so many revisions of those, the oldest. A store may end earlier where they are large, though not before the first one:
    /// only an empty answer says that there are no more. [`super::HistoryPages`] asks for one page after the other.
    pub oldest: Option<usize>,
}

impl HistoryQuery {
    /// Tells whether an entry within a range of revisions may be none that is wanted.
    pub(in crate::store) fn is_choosy(&self) -> bool {
        self.task.is_some() || self.is_choosy_about_deeds()
    }

    /// Tells whether what an entry did decides whether it is wanted.
    pub(in crate::store) fn is_choosy_about_deeds(&self) -> bool {
        !self.ops.is_empty() || self.only_arrivals
    }

    /// Tells whether an entry of the task that is wanted did what is wanted.
    pub(in crate::store) fn wants_deed(&self, entry: &Entry) -> bool {
        let is_arrival = entry.before.is_none() && entry.after.is_some();
        (self.ops.is_empty() || self.ops.contains(&entry.op)) && (is_arrival || !self.only_arrivals)
    }
}

/// The last entry about a task, without what the task was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastEntry {
    /// The task the entry is about.
    pub task: TaskId,
    /// The commit it belongs to.
    pub revision: Revision,
    /// When the commit was made, by the clock of the store.
    pub at: Timestamp,
    /// What was done.
    pub op: Op,
    /// Whether the task was there after it.
    pub leaves_task: bool,
}

impl LastEntry {
    /// Returns an entry without what the task was.
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

/// So many revisions are asked for at once.
const PAGE: usize = 256;
/// No list comes so far.
const NEVER: Revision = Revision(1 << 37);

/// Anything that can be asked for the journal of a list: every store.
pub trait HistorySource {
    /// Returns the entries that are wanted, oldest first.
    fn entries(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Returns the newest revision that is written down; 0 where there is none, or it cannot be told.
    fn newest(&self, list: &ListId) -> Result<Revision, StoreError>;
}

/// A part of the journal in pages of whole revisions, oldest first: however much it is, only one page of it is in memory.
///
/// What is committed after the first question is not part of it. Nothing is held between two pages, so a reader may take its time: writers
/// go on meanwhile, and revisions that another process thins before they are reached are left out.
#[derive(Debug)]
pub struct HistoryPages<'a, S: HistorySource + ?Sized> {
    store: &'a S,
    list: &'a ListId,
    /// What to ask for next; none at the end.
    next: Option<HistoryQuery>,
}

impl<'a, S: HistorySource + ?Sized> HistoryPages<'a, S> {
    /// Begins to read what is wanted, as far as it has happened by now.
    pub fn of(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Result<Self, StoreError> {
        let next = newest_of(store, list)?.map(|newest| paged(query, newest));
        Ok(Self { store, list, next })
    }

    /// Begins to read what is wanted, as far as it is written down by now: for a caller that has just looked at the
    /// list.
    pub(crate) fn of_what_is_recorded(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Result<Self, StoreError> {
        match store.newest(list)? {
            Revision(0) => Self::of(store, list, query),
            newest => Ok(Self { store, list, next: Some(paged(query, newest)) }),
        }
    }
}

/// Returns the first question for what is wanted up to a revision.
fn paged(query: HistoryQuery, newest: Revision) -> HistoryQuery {
    let until = query.until.map_or(newest, |until| until.min(newest));
    HistoryQuery { until: Some(until), oldest: Some(PAGE), ..query }
}

/// Returns the newest revision, once what other programs did is written down. It may hold as many entries as the list has tasks, so it is
/// not read where that can be helped.
fn newest_of<S: HistorySource + ?Sized>(store: &S, list: &ListId) -> Result<Option<Revision>, StoreError> {
    store.entries(list, &HistoryQuery { since: NEVER, ..HistoryQuery::default() })?;
    match store.newest(list)? {
        // There is none, or it cannot be told; then the question says why.
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
            // The first page began with the oldest of the newest revisions; the others follow on it.
            self.next = Some(HistoryQuery { since: last, newest: None, ..query });
        }
        Some(Ok(page))
    }
}

/// So many revisions are asked for first, and each time after that so many times as many, up to a page of them.
const FIRST: usize = 4;
const MORE: usize = 4;
const MOST: usize = 64;

/// A part of the journal in pages of whole revisions, each oldest entry first, the newest page first: for a caller that finds what it looks
/// for near the end.
#[derive(Debug)]
pub struct HistoryBackwards<'a, S: HistorySource + ?Sized> {
    store: &'a S,
    list: &'a ListId,
    count: usize,
    /// What to ask for next; none at the beginning of the journal.
    next: Option<HistoryQuery>,
}

impl<'a, S: HistorySource + ?Sized> HistoryBackwards<'a, S> {
    /// Begins with the newest of what is wanted.
    pub fn of(store: &'a S, list: &'a ListId, query: HistoryQuery) -> Self {
        Self { store, list, count: FIRST, next: Some(query) }
    }

    /// Tells whether nothing stands before what was read.
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
