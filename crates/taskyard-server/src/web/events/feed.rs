//! The single reader of a list's events, shared by all its streams.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard::Yard;
use taskyard::core::answers::answer_document::to_vec;
use taskyard::core::answers::history_answers::ListEvent;
use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, Event, ListId, Revision, Timestamp};
use taskyard::lease_watch::Warden;
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use tokio::sync::watch;

use super::event_id::EventId;
use super::frame::{EventText, Frame, commit, event_text, written};
use super::ring::{After, Ring};
use crate::web::tally::Tally;

/// Maximum number of events taken at once.
const AT_ONCE: usize = 64;
/// A client that is further behind than this many revisions is told to read the list again.
const REPLAYED: u64 = 1_000;
/// Maximum number of agents whose messages are followed.
const INBOXES: usize = 256;

/// The subject of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// One list: its commits, jobs and team, and the caller's messages.
    List(ListId),
    /// All lists of the store, and the caller's messages.
    All,
}

pub(crate) struct Feed {
    topic: Topic,
    yard: Yard,
    events: Arc<Events>,
    agents: Mutex<BTreeSet<AgentName>>,
    listening: Listening,
    _warden: Option<Warden>,
    /// The number of streams attached.
    pub(super) streams: AtomicUsize,
}

/// The events produced so far.
struct Events {
    epoch: String,
    kept: Mutex<Kept>,
    newest: watch::Sender<u64>,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Kept {
    ring: Ring,
    /// The last revision announced.
    revision: u64,
}

/// Where a stream starts.
#[derive(Debug)]
pub(super) struct Start {
    /// Frames to send before any others.
    pub(super) first: Vec<axum::body::Bytes>,
    /// The last event already sent.
    pub(super) after: u64,
    /// Commits up to this revision were already sent.
    pub(super) told: u64,
}

impl Feed {
    /// Starts following. May access the disk.
    pub(super) fn follow(yard: Yard, topic: Topic, epoch: &str, tally: &Arc<Tally>) -> Result<Arc<Self>, Problem> {
        let agents = BTreeSet::from([yard.actor().clone()]);
        let (interest, cursor, revision, warden) = match &topic {
            Topic::List(list) => {
                let revision = yard.store().read(list)?.revision();
                let mut cursor = Cursor::now();
                cursor.lists.insert(list.clone(), revision);
                // Release the tasks of dead agents immediately, not when an agent next writes.
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

    /// Returns a receiver that is notified of new events.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.events.newest.subscribe()
    }

    /// Returns the events after a number.
    pub(super) fn after(&self, number: u64) -> After {
        self.events.kept().ring.after(number, AT_ONCE)
    }

    /// Also follows the messages of an agent from now on.
    pub(super) fn tell_messages_of(&self, agent: &AgentName) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() < INBOXES && agents.insert(agent.clone()) {
            let agents = agents.clone();
            self.listening.control().follow_inboxes(move || agents);
        }
    }

    /// Determines where a stream starts, given the last event the client has. May access the disk.
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
            // It has no number here: a client that disconnects after it resumes with the next revision.
            let id = EventId { revision: revision.0, epoch: String::new(), number: 0 };
            first.push(written(Some(&id), "commit", &commit(&event)));
            told = revision.0;
        }
        first.push(self.greeting("resumed", told, newest));
        Ok(Start { first, after: newest, told })
    }

    /// Returns the first event of a stream, with the list's revision: `ready` for a new stream, `resumed` if nothing
    /// was missed, and `reset` if the client must read everything again.
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

    pub(super) fn newest_id(&self) -> EventId {
        let kept = self.events.kept();
        self.id(kept.revision, kept.ring.newest())
    }

    /// Returns the number of streams attached.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }
}

impl Events {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Produces an event. Runs on the reader's own thread, so writers never wait, and does not block.
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
