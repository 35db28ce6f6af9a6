//! The one reader of a list's stream, and the events it has made.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard::Yard;
use taskyard::core::answers::document::to_vec;
use taskyard::core::answers::history::ListEvent;
use taskyard::core::{AgentName, Event, ListId, Revision, Timestamp};
use taskyard::leases::Warden;
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use tokio::sync::watch;

use super::event_id::EventId;
use super::frame::{EventText, Frame, commit, event_text, written};
use super::ring::{After, Ring};
use crate::web::tally::Tally;
use taskyard::core::problem::Problem;

/// So many events are taken at once.
const AT_ONCE: usize = 64;
/// A reader that is further behind than so many revisions is told to read the list anew.
const REPLAYED: u64 = 1_000;
/// The messages of so many agents are told.
const INBOXES: usize = 256;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// One list: its commits, its jobs, its team, and the messages of the caller.
    List(ListId),
    /// All lists of the store, and the messages of the caller.
    All,
}

/// The one reader of a stream.
pub(crate) struct Feed {
    topic: Topic,
    yard: Yard,
    events: Arc<Events>,
    agents: Mutex<BTreeSet<AgentName>>,
    listening: Listening,
    _warden: Option<Warden>,
    /// How many listen to it.
    pub(super) streams: AtomicUsize,
}

/// The events that were made.
struct Events {
    epoch: String,
    kept: Mutex<Kept>,
    newest: watch::Sender<u64>,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Kept {
    ring: Ring,
    /// The revision that was told last.
    revision: u64,
}

/// From where on a browser begins.
#[derive(Debug)]
pub(super) struct Start {
    /// What is sent before anything else.
    pub(super) first: Vec<axum::body::Bytes>,
    /// The last event that was told.
    pub(super) after: u64,
    /// Commits up to this revision were told already.
    pub(super) told: u64,
}

impl Feed {
    /// Begins to follow. May wait for the disk.
    pub(super) fn follow(yard: Yard, topic: Topic, epoch: &str, tally: &Arc<Tally>) -> Result<Arc<Self>, Problem> {
        let agents = BTreeSet::from([yard.actor().clone()]);
        let (interest, cursor, revision, warden) = match &topic {
            Topic::List(list) => {
                let revision = yard.store().read(list)?.revision();
                let mut cursor = Cursor::now();
                cursor.lists.insert(list.clone(), revision);
                // What the dead held comes back as soon as they are dead, and not when an agent next writes.
                let warden = Warden::over(&yard)?;
                (Interest::in_all_of(list, agents.clone()), cursor, revision.0, Some(warden))
            }
            Topic::All => {
                let interest = Interest { inboxes: Some(agents.clone()), ..Interest::in_everything() };
                (interest, Cursor::now(), 0, None)
            }
        };
        let (newest, _) = watch::channel(0);
        let kept = Mutex::new(Kept { ring: Ring::default(), revision });
        let events = Arc::new(Events { epoch: epoch.to_owned(), kept, newest, tally: Arc::clone(tally) });
        let stream = yard.follow_only(interest, cursor)?;
        let listening = {
            let (events, is_all) = (Arc::clone(&events), topic == Topic::All);
            stream.listen(move |happening| events.tell(&happening, is_all))?
        };
        let (agents, streams) = (Mutex::new(agents), AtomicUsize::new(0));
        Ok(Arc::new(Self { topic, yard, events, agents, listening, _warden: warden, streams }))
    }

    /// Returns what wakes the readers that wait for events.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.events.newest.subscribe()
    }

    /// Returns what comes after an event.
    pub(super) fn after(&self, number: u64) -> After {
        self.events.kept().ring.after(number, AT_ONCE)
    }

    /// Has the messages of an agent told, from now on.
    pub(super) fn tell_messages_of(&self, agent: &AgentName) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() < INBOXES && agents.insert(agent.clone()) {
            let agents = agents.clone();
            self.listening.control().follow_inboxes(move || agents);
        }
    }

    /// Decides where a listener begins that has an event already. May wait for the disk.
    pub(super) fn start(&self, last: Option<&EventId>, agent: Option<&AgentName>) -> Result<Start, Problem> {
        agent.iter().for_each(|agent| self.tell_messages_of(agent));
        let (newest, revision, is_kept) = {
            let kept = self.events.kept();
            let same = last.filter(|last| last.epoch == self.events.epoch);
            (kept.ring.newest(), kept.revision, same.is_some_and(|last| kept.ring.reaches_back_to(last.number)))
        };
        if let Some(last) = last.filter(|_| is_kept) {
            let first = vec![self.greeting("resumed", last.revision, last.number)];
            return Ok(Start { first, after: last.number, told: last.revision });
        }
        let Topic::List(list) = &self.topic else {
            let name = if last.is_some() { "reset" } else { "ready" };
            return Ok(Start { first: vec![self.greeting(name, 0, newest)], after: newest, told: 0 });
        };
        let Some(last) = last else {
            return Ok(Start { first: vec![self.greeting("ready", revision, newest)], after: newest, told: revision });
        };
        if last.revision > revision || revision - last.revision > REPLAYED {
            return Ok(Start { first: vec![self.greeting("reset", revision, newest)], after: newest, told: revision });
        }
        let mut first = Vec::new();
        let mut told = last.revision;
        let query = HistoryQuery { since: Revision(last.revision), ..HistoryQuery::default() };
        let entries = self.yard.history(&query)?;
        for entries in entries.chunk_by(|one, two| one.revision == two.revision) {
            let revision = entries[0].revision;
            let event = Event { list: list.clone(), revision, entries: entries.to_vec() };
            // It has no number here: a reader that leaves after it goes on with the next revision.
            let id = EventId { revision: revision.0, epoch: String::new(), number: 0 };
            first.push(written(Some(&id), "commit", &commit(&event)));
            told = revision.0;
        }
        first.push(self.greeting("resumed", told, newest));
        Ok(Start { first, after: newest, told })
    }

    /// Returns the event that tells a new reader how far the list is: `ready` where it begins, `resumed` where nothing
    /// was left out, and `reset` where it has to look at everything anew.
    fn greeting(&self, name: &str, revision: u64, number: u64) -> axum::body::Bytes {
        let list = match &self.topic {
            Topic::List(list) => Some(list.as_str()),
            Topic::All => None,
        };
        let body = to_vec(ListEvent { list, revision: Some(revision) });
        written(Some(&self.id(revision, number)), name, &body)
    }

    fn id(&self, revision: u64, number: u64) -> EventId {
        EventId { revision, epoch: self.events.epoch.clone(), number }
    }

    /// Returns the id of the newest event.
    pub(super) fn newest_id(&self) -> EventId {
        let kept = self.events.kept();
        self.id(kept.revision, kept.ring.newest())
    }

    /// Returns how many listen to it.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }
}

impl Events {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an event of what happened. The writer does not wait: this is the reader's own thread, and it does not wait either.
    fn tell(&self, happening: &Happening, is_all: bool) {
        if let Happening::Commit(event) = happening {
            self.tally.note_commit(event, Timestamp(jiff::Timestamp::now().as_millisecond()));
        }
        let Some(EventText { name, data, audience, revision }) = event_text(happening) else { return };
        let mut kept = self.kept();
        if let Some(revision) = revision.filter(|_| !is_all) {
            kept.revision = revision;
        }
        let now = kept.revision;
        kept.ring.push(|number| {
            let id = EventId { revision: now, epoch: self.epoch.clone(), number };
            let is_of_list = |kind: &str| name == kind && !is_all;
            let (is_commit, is_reset) = (is_of_list("commit"), is_of_list("reset"));
            Frame { number, revision: now, is_commit, is_reset, audience, bytes: written(Some(&id), name, &data) }
        });
        let newest = kept.ring.newest();
        drop(kept);
        self.newest.send_replace(newest);
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Feed").field("topic", &self.topic).finish_non_exhaustive()
    }
}
