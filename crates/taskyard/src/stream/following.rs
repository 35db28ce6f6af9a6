//! The stream itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fmt, io};

use taskyard_core::{ListId, Revision};

use super::control::{SharedAgents, StreamControl};
use super::jobs_source::JobsSource;
use super::list_source::ListSource;
use super::names_source::NamesSource;
use super::source::{Found, Mover, Slot};
use super::teams_source::TeamsSource;
use super::{Cursor, Happening, Interest, ListsFollowed};
use crate::notices::Notices;
use crate::process::Waker;
use crate::store::{Store, StoreError};
use crate::teams::Teams;
use crate::{Error, Yard};

/// What a follower sees, in the order in which it happened. What happened on one list is in the order of its revisions, each once; what
/// happened in different places is in the order in which it was seen.
///
/// It is an iterator that waits for the next thing to happen and ends when [`StreamControl::stop`] was called.
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
    /// Why something is no longer followed.
    failed: VecDeque<Error>,
}

/// Where what is followed is kept.
#[derive(Clone)]
struct Origins {
    store: Arc<dyn Store>,
    teams: Option<Arc<Teams>>,
    notices: Option<Arc<dyn Notices>>,
}

impl Yard {
    /// Follows what happens on the yard's list, and what is written to the actor: see [`Stream`]. Messages, agents and jobs are told where
    /// the yard knows of teams and notices.
    pub fn follow(&self, since: Cursor) -> Result<Stream, Error> {
        self.follow_only(Interest::in_all_of(self.list_id(), [self.actor().clone()]), since)
    }

    /// Follows what an interest names.
    pub fn follow_only(&self, interest: Interest, since: Cursor) -> Result<Stream, Error> {
        Stream::begin(self, interest, since, Waker::new().map_err(cannot_wait)?)
    }

    /// Does the same for a caller that waits for other things, too, and asks with [`Stream::try_next`].
    pub(crate) fn follow_waking(&self, interest: Interest, since: Cursor, waker: Waker) -> Result<Stream, Error> {
        Stream::begin(self, interest, since, waker)
    }
}

/// What failed when a thread could not wait.
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

    /// Returns what steers the stream from another thread.
    pub fn control(&self) -> StreamControl {
        self.control.clone()
    }

    /// Returns how far the stream was read: what was returned counts, and nothing else.
    pub fn cursor(&self) -> Cursor {
        let mut cursor = self.since.clone();
        self.slots.iter().for_each(|slot| slot.mark(&mut cursor));
        self.ready.iter().rev().for_each(|happening| cursor.go_back_before(happening));
        cursor
    }

    /// Returns the next thing that happened, waiting until then; none when it is time, or the stream was stopped.
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

    /// Waits as [`Self::next_before`] does, and no longer once something cannot be told for the moment, or can be again: the answer is none
    /// then, and [`Self::trouble`] says what it is. A failure that passes ends no stream.
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

    /// Returns why something that happens cannot be told for the moment; none where everything can.
    pub fn trouble(&self) -> Option<&str> {
        self.slots.iter().find_map(Slot::trouble)
    }

    /// Returns the next thing that has happened, without waiting.
    pub fn try_next(&mut self) -> Result<Option<Happening>, Error> {
        if self.waker.is_stopped() {
            return Ok(None);
        }
        if self.ready.is_empty() && self.failed.is_empty() {
            self.look();
        }
        // What was read before it failed comes first.
        match (self.ready.pop_front(), self.failed.is_empty()) {
            (None, false) => self.failed.pop_front().map_or(Ok(None), Err),
            (happening, _) => Ok(happening),
        }
    }

    /// Returns what was seen already.
    pub(super) fn take_ready(&mut self) -> VecDeque<Happening> {
        std::mem::take(&mut self.ready)
    }

    /// Returns when something is to be looked at although no source tells of it; none where everything is told.
    pub(crate) fn due(&self) -> Option<Instant> {
        let now = Instant::now();
        self.slots.iter().filter_map(|slot| slot.due(now)).min()
    }

    /// Looks at everything that has moved.
    fn look(&mut self) {
        self.waker.reset();
        let (now, mut found) = (Instant::now(), Found::default());
        let failed = &mut self.failed;
        self.slots.retain_mut(|slot| slot.look(now, &mut found).map_err(|error| failed.push_back(error)).is_ok());
        self.ready.append(&mut found.happenings);
        self.slots.retain(|slot| slot.list.as_ref().is_none_or(|list| !found.lists_to_leave.contains(list)));
        for list in found.lists_to_follow {
            // Whatever happened on a list that has just come is news.
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
