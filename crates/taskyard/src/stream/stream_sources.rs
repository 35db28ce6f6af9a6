//! The sources of a stream: lists, their names, jobs and teams.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use taskyard_core::{AgentName, Entry, Event, JobId, ListId, Member, MessageKey, Revision, TeamName};

use super::{Cursor, Happening, ListsFollowed};
use crate::Error;
use crate::notices::{NoticeError, NoticeWatch, Notices};
use crate::process::Waker;
use crate::store::{HistoryQuery, ListWatch, Moved, Store, StoreError, UNTOLD, Watch};
use crate::stream::stream_event::{AlreadyTold, SharedAgents, mark_of};
use crate::teams::{TeamWatch, Teams};

/// A source of events.
pub(super) trait Source: Send {
    /// Reads new events and appends them in the order in which they happened. Returns after how long the source must be
    /// polled without a notification; `None` if it always notifies.
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error>;

    /// Stores its position in a cursor.
    fn mark(&self, cursor: &mut Cursor);
}

/// The result of reading sources.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) happenings: VecDeque<Happening>,
    /// Lists to follow from now on.
    pub(super) lists_to_follow: Vec<ListId>,
    /// Lists to stop following.
    pub(super) lists_to_leave: Vec<ListId>,
}

/// A source, and when it must be read.
pub(super) struct Slot {
    source: Box<dyn Source>,
    /// The list it belongs to, if it belongs to one.
    pub(super) list: Option<ListId>,
    has_moved: Arc<AtomicBool>,
    due: Option<Instant>,
    /// The last error, so that it is logged only once.
    failed: Option<String>,
}

/// Notifies a stream that a source has changed.
pub(super) struct Mover {
    has_moved: Arc<AtomicBool>,
    waker: Waker,
}

impl Mover {
    pub(super) fn of(waker: &Waker) -> Self {
        // It has never been read.
        Self { has_moved: Arc::new(AtomicBool::new(true)), waker: waker.clone() }
    }

    /// Returns the callback for a source's watch.
    pub(super) fn moved(&self) -> Moved {
        let (has_moved, waker) = (Arc::clone(&self.has_moved), self.waker.clone());
        Arc::new(move || {
            has_moved.store(true, Ordering::SeqCst);
            waker.wake();
        })
    }

    /// Returns the slot of a source whose watch calls [`Self::moved`].
    pub(super) fn slot(self, list: Option<ListId>, source: impl Source + 'static) -> Slot {
        Slot { source: Box::new(source), list, has_moved: self.has_moved, due: None, failed: None }
    }
}

impl Slot {
    /// Returns when the source must be read; `None` if it has not changed and will notify.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.has_moved.load(Ordering::SeqCst) { Some(now) } else { self.due }
    }

    /// Returns why the source temporarily cannot be read.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Stores the source's position in a cursor.
    pub(super) fn mark(&self, cursor: &mut Cursor) {
        self.source.mark(cursor);
    }

    /// Reads the source if it is due. Fails if it can no longer be followed; other errors are logged and retried.
    pub(super) fn look(&mut self, now: Instant, found: &mut Found) -> Result<(), Error> {
        // Clear the flag before reading: later changes set it again.
        let has_moved = self.has_moved.swap(false, Ordering::SeqCst);
        if !has_moved && self.due.is_none_or(|due| due > now) {
            return Ok(());
        }
        let pause = match self.source.look(found) {
            Ok(pause) => {
                self.failed = None;
                pause
            }
            Err(error) if error.newer_database().is_some() => return Err(error),
            Err(error) => {
                let words = error.to_string();
                if self.failed.as_ref() != Some(&words) {
                    tracing::warn!(error = words, "what happens cannot be told for the moment");
                }
                self.failed = Some(words);
                Some(UNTOLD)
            }
        };
        self.due = pause.map(|pause| Instant::now() + pause);
        Ok(())
    }
}

/// Number of revisions read at once, which limits memory if the follower is slow.
const PAGE: usize = 256;

/// The commits of one list.
pub(super) struct ListSource {
    list: ListId,
    watch: Box<dyn ListWatch>,
    /// The last revision read.
    read: Revision,
}

impl ListSource {
    /// Starts after a revision, or after the newest if `since` is `None`.
    pub(super) fn after(
        list: ListId,
        since: Option<Revision>,
        mut watch: Box<dyn ListWatch>,
    ) -> Result<Self, StoreError> {
        let read = match since {
            Some(since) => since,
            None => {
                // Earlier changes by other programs are not news.
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
        // There may be more entries whatever their number, since a journal may return fewer than requested.
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

/// The creation and removal of lists.
pub(super) struct NamesSource {
    store: Arc<dyn Store>,
    watch: Box<dyn Watch>,
    known: BTreeSet<ListId>,
}

impl NamesSource {
    /// Starts with the lists that exist.
    pub(super) fn new(store: Arc<dyn Store>, mut watch: Box<dyn Watch>) -> Result<Self, StoreError> {
        watch.keep_up()?;
        let known = store.list_names()?;
        Ok(Self { store, watch, known })
    }

    /// Returns the lists that existed at the last read.
    pub(super) fn known(&self) -> &BTreeSet<ListId> {
        &self.known
    }
}

impl Source for NamesSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch.keep_up()?;
        let lists = self.store.list_names()?;
        for list in lists.difference(&self.known) {
            found.happenings.push_back(Happening::ListCame(list.clone()));
            found.lists_to_follow.push(list.clone());
        }
        for list in self.known.difference(&lists) {
            found.happenings.push_back(Happening::ListWent(list.clone()));
            found.lists_to_leave.push(list.clone());
        }
        self.known = lists;
        Ok(pause)
    }

    fn mark(&self, _cursor: &mut Cursor) {}
}

/// Polling interval while it is unknown whether the notices have changed.
const UNCERTAIN: Duration = Duration::from_millis(100);

/// The ends of jobs of a list.
pub(super) struct JobsSource {
    notices: Arc<dyn Notices>,
    list: ListId,
    watch: Box<dyn NoticeWatch>,
    told: BTreeSet<JobId>,
    /// The version of the notices at the last read.
    version: Option<u64>,
}

impl JobsSource {
    /// Starts after what the cursor says was delivered.
    pub(super) fn new(
        notices: Arc<dyn Notices>,
        list: ListId,
        cursor: &Cursor,
        mut watch: Box<dyn NoticeWatch>,
    ) -> Result<Self, NoticeError> {
        // Watch before the first read, so that nothing is missed in between.
        watch.keep_up()?;
        let mut told: BTreeSet<JobId> = ids(notices.queued(&list, &BTreeSet::new())?);
        if let AlreadyTold::These(these) = &cursor.jobs {
            // Acknowledged notices need not be delivered again.
            for waiting in ids(notices.waiting(&list)?).difference(these) {
                told.remove(waiting);
            }
        }
        Ok(Self { notices, list, watch, told, version: None })
    }
}

impl Source for JobsSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch.keep_up()?;
        // Reading touches other files in the same directory, which must not cause another read.
        let version = self.notices.version();
        if version.is_some() && version == self.version {
            return Ok(pause);
        }
        for notice in self.notices.queued(&self.list, &self.told)? {
            self.told.insert(notice.job.id.clone());
            found.happenings.push_back(Happening::JobEnded(Box::new(notice)));
        }
        self.version = version;
        Ok(if version.is_none() { Some(UNCERTAIN) } else { pause })
    }

    fn mark(&self, cursor: &mut Cursor) {
        cursor.jobs.add(self.told.iter().cloned());
    }
}

fn ids(notices: Vec<crate::notices::Notice>) -> BTreeSet<JobId> {
    notices.into_iter().map(|notice| notice.job.id).collect()
}

/// Messages to agents, and members joining and leaving teams.
pub(super) struct TeamsSource {
    teams: Teams,
    watch: Box<dyn TeamWatch>,
    /// The teams whose mailboxes are watched.
    watched: Vec<TeamName>,
    inboxes: SharedAgents,
    /// For each agent, the delivered messages that are still in its inbox.
    told: BTreeMap<AgentName, BTreeSet<MessageKey>>,
    /// The members of these lists' teams, keyed by the team's directory and the member's name; `None` if they are not
    /// followed.
    members: Option<(ListsFollowed, Members)>,
}

type Members = BTreeMap<(String, String), (TeamName, Member)>;

impl TeamsSource {
    /// Starts after what the cursor says was delivered.
    pub(super) fn new(
        teams: &Arc<Teams>,
        watch: Box<dyn TeamWatch>,
        inboxes: SharedAgents,
        teams_of: Option<ListsFollowed>,
        cursor: &Cursor,
    ) -> Result<Self, Error> {
        let teams = teams.lasting();
        let mut source = Self { teams, watch, watched: Vec::new(), inboxes, told: BTreeMap::new(), members: None };
        source.watch_what_is_there(&mut Found::default())?;
        if let AlreadyTold::These(these) = &cursor.messages {
            source.told.clear();
            for (agent, key) in these {
                source.told.entry(agent.clone()).or_default().insert(key.clone());
            }
        }
        if let Some(lists) = teams_of {
            let mut members = source.members_of(&lists)?;
            if let Some(these) = cursor.members.these() {
                members.retain(|key, _| these.contains(key));
            }
            source.members = Some((lists, members));
        }
        Ok(source)
    }

    /// Watches and reads until no further team is found.
    fn watch_what_is_there(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        loop {
            // Watch before reading, so that nothing is missed in between.
            let is_told = self.watch.keep_up(&self.watched);
            let seen = self.tell_messages(found);
            if seen == self.watched {
                return Ok((!is_told).then_some(UNTOLD));
            }
            // Messages that arrived in a mailbox before it was watched caused no notification.
            self.watched = seen;
        }
    }

    /// Delivers messages that were not there at the last read. Returns the teams that were read.
    fn tell_messages(&mut self, found: &mut Found) -> Vec<TeamName> {
        let agents = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // If an agent is followed again later, its pending messages are delivered again.
        self.told.retain(|agent, _| agents.contains(agent));
        let mut watched = Vec::new();
        for (agent, seats) in self.teams.seats_of_all(&agents) {
            let read = seats.and_then(|seats| {
                let boxes = seats.into_iter().map(|seat| Ok((self.teams.look_into(&seat)?, seat.team.name)));
                boxes.collect::<Result<Vec<_>, _>>()
            });
            let boxes = match read {
                Ok(boxes) => boxes,
                Err(error) => {
                    tracing::warn!(%error, %agent, "messages cannot be looked at");
                    watched.extend(self.watched.iter().cloned());
                    continue;
                }
            };
            let before = self.told.remove(&agent).unwrap_or_default();
            let mut now = BTreeSet::new();
            for (received, team) in boxes {
                for delivery in received.deliveries {
                    let is_new = !delivery.keys.iter().all(|key| before.contains(key));
                    now.extend(delivery.keys.iter().cloned());
                    if is_new {
                        let (agent, team) = (agent.clone(), team.clone());
                        let delivery = Box::new(delivery);
                        found.happenings.push_back(Happening::Message { agent, team, delivery });
                    }
                }
                watched.push(team);
            }
            self.told.insert(agent, now);
        }
        watched.sort_by(|one, two| one.as_str().cmp(two.as_str()));
        watched.dedup();
        watched
    }

    fn members_of(&self, lists: &ListsFollowed) -> Result<Members, Error> {
        let mut members = Members::new();
        for team in self.teams.list()? {
            if !self.teams.list_of(&team.name).is_ok_and(|list| lists.contains(&list)) {
                continue;
            }
            for member in team.members {
                members.insert(mark_of(&team.name, &member.name), (team.name.clone(), member));
            }
        }
        Ok(members)
    }
}

impl Source for TeamsSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch_what_is_there(found)?;
        let Some((lists, before)) = &self.members else { return Ok(pause) };
        let now = self.members_of(lists)?;
        for (_, (team, member)) in now.iter().filter(|(key, _)| !before.contains_key(*key)) {
            let (team, member) = (team.clone(), Box::new(member.clone()));
            found.happenings.push_back(Happening::AgentCame { team, member });
        }
        for ((_, name), (team, _)) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
            found.happenings.push_back(Happening::AgentWent { team: team.clone(), name: name.clone() });
        }
        self.members = Some((lists.clone(), now));
        Ok(pause)
    }

    fn mark(&self, cursor: &mut Cursor) {
        let told = |(agent, keys): (&AgentName, &BTreeSet<MessageKey>)| {
            keys.iter().map(|key| (agent.clone(), key.clone())).collect::<Vec<_>>()
        };
        cursor.messages = AlreadyTold::These(self.told.iter().flat_map(told).collect());
        if let Some((_, members)) = &self.members {
            cursor.members = AlreadyTold::These(members.keys().cloned().collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::super::Cursor;
    use super::{Found, Mover, Source, Waker};
    use crate::Error;
    use crate::store::StoreError;

    /// A source that fails while the test says so.
    struct Breakable(Arc<AtomicBool>);

    impl Source for Breakable {
        fn look(&mut self, _found: &mut Found) -> Result<Option<Duration>, Error> {
            if self.0.load(Ordering::SeqCst) {
                return Err(StoreError::io("cannot read", "the journal")(io::Error::other("broken")).into());
            }
            Ok(None)
        }

        fn mark(&self, _cursor: &mut Cursor) {}
    }

    #[test]
    fn what_cannot_be_told_is_trouble_until_it_can_be_again() {
        let is_broken = Arc::new(AtomicBool::new(true));
        let mover = Mover::of(&Waker::new().unwrap());
        let mut slot = mover.slot(None, Breakable(Arc::clone(&is_broken)));
        let now = Instant::now();
        slot.look(now, &mut Found::default()).unwrap();
        assert!(slot.trouble().is_some_and(|why| why.contains("broken")), "{:?}", slot.trouble());
        let again = slot.due(now).expect("it is looked at again");
        is_broken.store(false, Ordering::SeqCst);
        slot.look(again, &mut Found::default()).unwrap();
        assert_eq!(slot.trouble(), None);
    }
}
