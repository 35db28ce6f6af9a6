//! The event stream, read by a follower or delivered to a listener.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fmt, io, thread};

use taskyard_core::{ListId, Revision};

use super::{Cursor, Happening, Interest, ListsFollowed};
use crate::notices::Notices;
use crate::process::Waker;
use crate::store::{Store, StoreError, Subscription};
use crate::stream::stream_event::{SharedAgents, StreamControl};
use crate::stream::stream_sources::{Found, JobsSource, ListSource, Mover, NamesSource, Slot, TeamsSource};
use crate::teams::Teams;
use crate::{Error, Yard};

/// A stream of events. Events of one list come in the order of their revisions, each once; events of different lists
/// come in the order in which they were noticed.
///
/// As an iterator, it waits for the next event and ends after [`StreamControl::stop`] was called.
///
/// ```
/// use std::sync::Arc;
/// use taskyard::Yard;
/// use taskyard::core::{AgentName, ListId, Revision, Rules};
/// use taskyard::operations::NewTask;
/// use taskyard::store::MemoryStore;
/// use taskyard::stream::{Cursor, Happening};
///
/// let list = ListId::new("rocket")?;
/// let yard = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), list.clone(), AgentName::new("ana")?);
/// yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?;
///
/// let mut stream = yard.follow(Cursor::after(&list, Revision(0)))?;
/// let Some(Happening::Commit(commit)) = stream.next().transpose()? else { panic!("it was committed") };
/// assert_eq!(commit.revision, Revision(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stream {
    origins: Origins,
    interest: Interest,
    since: Cursor,
    waker: Waker,
    control: StreamControl,
    slots: Vec<Slot>,
    ready: VecDeque<Happening>,
    /// Errors of sources that are no longer followed.
    failed: VecDeque<Error>,
}

/// The stores that events come from.
#[derive(Clone)]
struct Origins {
    store: Arc<dyn Store>,
    teams: Option<Arc<Teams>>,
    notices: Option<Arc<dyn Notices>>,
}

impl Yard {
    /// Follows the events of the yard's list and the messages to the actor: see [`Stream`]. Messages, agents and jobs
    /// are included only if the yard has teams and notices.
    pub fn follow(&self, since: Cursor) -> Result<Stream, Error> {
        self.follow_only(Interest::in_all_of(self.list_id(), [self.actor().clone()]), since)
    }

    /// Follows the events that an interest selects.
    pub fn follow_only(&self, interest: Interest, since: Cursor) -> Result<Stream, Error> {
        Stream::begin(self, interest, since, Waker::new().map_err(cannot_wait)?)
    }

    /// Like [`Yard::follow_only`], for a caller that also waits for other things and polls with [`Stream::try_next`].
    pub(crate) fn follow_waking(&self, interest: Interest, since: Cursor, waker: Waker) -> Result<Stream, Error> {
        Stream::begin(self, interest, since, waker)
    }
}

/// The error of a thread that could not wait.
pub(crate) fn cannot_wait(error: io::Error) -> Error {
    StoreError::io("cannot wait for changes of", ".")(error).into()
}

impl Stream {
    fn begin(yard: &Yard, interest: Interest, since: Cursor, waker: Waker) -> Result<Self, Error> {
        let origins = Origins {
            store: yard.shared_store(),
            teams: yard.teams().map(Arc::clone),
            notices: yard.notices().map(Arc::clone),
        };
        let inboxes: SharedAgents = Arc::new(Mutex::new(interest.inboxes.clone().unwrap_or_default()));
        let control = StreamControl { waker: waker.clone(), inboxes, look_into_inboxes: None };
        let (slots, ready, failed) = Default::default();
        let mut stream = Self { origins, interest, since, waker, control, slots, ready, failed };
        stream.follow_lists()?;
        stream.follow_teams()?;
        Ok(stream)
    }

    fn follow_lists(&mut self) -> Result<(), Error> {
        let lists = match &self.interest.lists {
            ListsFollowed::These(lists) => lists.clone(),
            ListsFollowed::All => {
                let mover = Mover::of(&self.waker);
                let watch = self.origins.store.watch_names(mover.moved())?;
                let source = NamesSource::new(Arc::clone(&self.origins.store), watch)?;
                let lists = source.known().clone();
                self.slots.push(mover.slot(None, source));
                lists
            }
        };
        lists.into_iter().try_for_each(|list| {
            let since = self.since.lists.get(&list).copied();
            self.follow_list(list, since)
        })
    }

    fn follow_list(&mut self, list: ListId, since: Option<Revision>) -> Result<(), Error> {
        let mover = Mover::of(&self.waker);
        let watch = self.origins.store.watch(&list, mover.moved())?;
        let source = ListSource::after(list.clone(), since, watch)?;
        self.slots.push(mover.slot(Some(list.clone()), source));
        let Some(notices) = self.origins.notices.clone().filter(|_| self.interest.jobs) else { return Ok(()) };
        let mover = Mover::of(&self.waker);
        let watch = notices.watch(&list, mover.moved())?;
        let source = JobsSource::new(notices, list.clone(), &self.since, watch)?;
        self.slots.push(mover.slot(Some(list), source));
        Ok(())
    }

    fn follow_teams(&mut self) -> Result<(), Error> {
        let wants_teams = self.interest.agents || self.interest.inboxes.is_some();
        let Some(teams) = self.origins.teams.as_ref().filter(|_| wants_teams) else { return Ok(()) };
        let mover = Mover::of(&self.waker);
        self.control.look_into_inboxes = Some(mover.moved());
        let watch = teams.watch(mover.moved());
        let teams_of = self.interest.agents.then(|| self.interest.lists.clone());
        let source = TeamsSource::new(teams, watch, Arc::clone(&self.control.inboxes), teams_of, &self.since)?;
        self.slots.push(mover.slot(None, source));
        Ok(())
    }

    /// Returns the handle for controlling the stream from another thread.
    pub fn control(&self) -> StreamControl {
        self.control.clone()
    }

    /// Returns the position after the last event that was returned.
    pub fn cursor(&self) -> Cursor {
        let mut cursor = self.since.clone();
        self.slots.iter().for_each(|slot| slot.mark(&mut cursor));
        self.ready.iter().rev().for_each(|happening| cursor.go_back_before(happening));
        cursor
    }

    /// Waits for the next event. Returns `None` at `until`, or if the stream was stopped.
    pub fn next_before(&mut self, until: Option<Instant>) -> Result<Option<Happening>, Error> {
        loop {
            if let Some(happening) = self.try_next()? {
                return Ok(Some(happening));
            }
            let now = Instant::now();
            if self.waker.is_stopped() || until.is_some_and(|until| until <= now) {
                return Ok(None);
            }
            let due = self.slots.iter().filter_map(|slot| slot.due(now));
            self.waker.wait(due.chain(until).min()).map_err(cannot_wait)?;
        }
    }

    /// Like [`Self::next_before`], but also returns `None` when [`Self::trouble`] changes: when events become
    /// temporarily unavailable, or available again. A temporary failure does not end the stream.
    pub fn next_or_trouble(&mut self, until: Option<Instant>) -> Result<Option<Happening>, Error> {
        loop {
            let before = self.trouble().map(str::to_owned);
            if let Some(happening) = self.try_next()? {
                return Ok(Some(happening));
            }
            let now = Instant::now();
            let is_over = self.waker.is_stopped() || until.is_some_and(|until| until <= now);
            if is_over || self.trouble() != before.as_deref() {
                return Ok(None);
            }
            let due = self.slots.iter().filter_map(|slot| slot.due(now));
            self.waker.wait(due.chain(until).min()).map_err(cannot_wait)?;
        }
    }

    /// Returns why some events are temporarily unavailable; `None` if all are available.
    pub fn trouble(&self) -> Option<&str> {
        self.slots.iter().find_map(Slot::trouble)
    }

    /// Returns the next event without waiting, if there is one.
    pub fn try_next(&mut self) -> Result<Option<Happening>, Error> {
        if self.waker.is_stopped() {
            return Ok(None);
        }
        if self.ready.is_empty() && self.failed.is_empty() {
            self.look();
        }
        // Deliver what was read before the failure first.
        match (self.ready.pop_front(), self.failed.is_empty()) {
            (None, false) => self.failed.pop_front().map_or(Ok(None), Err),
            (happening, _) => Ok(happening),
        }
    }

    /// Takes the events that were already read.
    pub(super) fn take_ready(&mut self) -> VecDeque<Happening> {
        std::mem::take(&mut self.ready)
    }

    /// Returns when a source must be polled; `None` if all sources notify of changes.
    pub(crate) fn due(&self) -> Option<Instant> {
        let now = Instant::now();
        self.slots.iter().filter_map(|slot| slot.due(now)).min()
    }

    /// Reads all sources that have changed.
    fn look(&mut self) {
        self.waker.reset();
        let (now, mut found) = (Instant::now(), Found::default());
        let failed = &mut self.failed;
        self.slots.retain_mut(|slot| slot.look(now, &mut found).map_err(|error| failed.push_back(error)).is_ok());
        self.ready.append(&mut found.happenings);
        self.slots.retain(|slot| slot.list.as_ref().is_none_or(|list| !found.lists_to_leave.contains(list)));
        for list in found.lists_to_follow {
            // Everything that happened on a new list is news.
            if let Err(error) = self.follow_list(list, Some(Revision(0))) {
                tracing::warn!(%error, "a list that has come is not followed");
            }
        }
    }
}

impl Iterator for Stream {
    type Item = Result<Happening, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_before(None).transpose()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").field("interest", &self.interest).finish_non_exhaustive()
    }
}

/// A listener's registration; dropping it ends the calls.
#[derive(Debug)]
pub struct Listening {
    control: StreamControl,
    _thread: Subscription,
}

impl Stream {
    /// Calls a listener for every event, on a separate thread, until the returned value is dropped. A panic in the
    /// listener does not affect other listeners, and it is still called for the next event.
    pub fn listen(self, mut to: impl FnMut(Happening) + Send + 'static) -> Result<Listening, Error> {
        let control = self.control();
        self.listen_to_bursts(move |happenings| {
            // The caller that ends the subscription waits for this thread.
            for happening in happenings.into_iter().take_while(|_| !control.is_stopped()) {
                calling(|| to(happening));
            }
        })
    }

    /// Like [`Self::listen`], but passes all events that were read together in one call.
    pub fn listen_to_bursts(mut self, mut to: impl FnMut(Vec<Happening>) + Send + 'static) -> Result<Listening, Error> {
        let control = self.control();
        let end = control.clone();
        let told = move || {
            while let Some(first) = self.next() {
                match first {
                    Ok(first) => calling(|| to(std::iter::once(first).chain(self.take_ready()).collect())),
                    Err(error) => tracing::warn!(%error, "what happens is no longer told"),
                }
            }
        };
        let thread = thread::Builder::new().name("taskyard-stream".to_owned()).spawn(told);
        let thread = thread.map_err(StoreError::io("cannot start a thread to follow", "."))?;
        let thread = Subscription::new(move || {
            end.stop();
            // A listener may end its own subscription; it must not join its own thread.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        });
        Ok(Listening { control, _thread: thread })
    }
}

impl Listening {
    /// Returns the handle for controlling the stream.
    pub fn control(&self) -> &StreamControl {
        &self.control
    }
}

fn calling(listener: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(listener)).is_err() {
        tracing::error!("a listener panicked");
    }
}
