//! The commits of one list.

use std::time::Duration;

use taskyard_core::{Entry, Event, ListId, Revision};

use super::source::{Found, Source};
use super::{Cursor, Happening};
use crate::Error;
use crate::store::{HistoryQuery, ListWatch, StoreError};

/// So many revisions are read at once: a follower that is slow to take them has no more of them in memory.
const PAGE: usize = 256;

/// Tells the commits of one list.
pub(super) struct ListSource {
    list: ListId,
    watch: Box<dyn ListWatch>,
    /// How far it has read.
    read: Revision,
}

impl ListSource {
    /// Begins after a revision; after the newest where none is given.
    pub(super) fn after(
        list: ListId,
        since: Option<Revision>,
        mut watch: Box<dyn ListWatch>,
    ) -> Result<Self, StoreError> {
        let read = match since {
            Some(since) => since,
            None => {
                // What other programs did before now is not news.
                watch.keep_up()?;
                let newest = watch.entries(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
                newest.last().map_or(Revision(0), |entry| entry.revision)
            }
        };
        Ok(Self { list, watch, read })
    }
}

impl Source for ListSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch.keep_up()?;
        let page = HistoryQuery { since: self.read, oldest: Some(PAGE), ..HistoryQuery::default() };
        let events = events(&self.list, self.watch.entries(&page)?);
        if let Some(revision) = self.watch.other_history() {
            self.read = revision;
            found.happenings.push_back(Happening::WentBack { list: self.list.clone(), revision });
            return Ok(Some(Duration::ZERO));
        }
        let Some(last) = events.last() else { return Ok(pause) };
        self.read = last.revision;
        found.happenings.extend(events.into_iter().map(Happening::Commit));
        // There may be more, however many there were: a journal may return fewer than it was asked for.
        Ok(Some(Duration::ZERO))
    }

    fn mark(&self, cursor: &mut Cursor) {
        cursor.lists.insert(self.list.clone(), self.read);
    }
}

fn events(list: &ListId, entries: Vec<Entry>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for entry in entries {
        match events.last_mut() {
            Some(event) if event.revision == entry.revision => event.entries.push(entry),
            _ => events.push(Event { list: list.clone(), revision: entry.revision, entries: vec![entry] }),
        }
    }
    events
}
