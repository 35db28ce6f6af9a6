//! Following a list, on a separate thread.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::core::dialect::native;
use taskyard::core::live::LiveList;
use taskyard::core::problem::Problem;
use taskyard::core::view::WatchedList;
use taskyard::core::{Event, Revision, Status};
use taskyard::lease_watch::Warden;
use taskyard::store::UnreadableTask;
use taskyard::stream::{Cursor, Happening, Interest, ListsFollowed, Stream, StreamControl};
use taskyard::{Error, Yard};

use super::messages::{AppEvent, EventSender, Invalidated, Loaded, cannot_be_read};

/// The maximum number of events that are sent at once.
const BURST: usize = 256;

/// Leases are renewed without a commit, so they are read this often while an agent is at work.
const LEASES: Duration = Duration::from_secs(15);

/// The minimum time between two reads of leases while changes keep arriving.
const LEASES_APART: Duration = Duration::from_millis(250);

/// The first pause before a retry; later ones are longer.
const SOON: Duration = Duration::from_millis(250);
const LATER: Duration = Duration::from_secs(5);

/// A list that is followed until this is dropped.
#[derive(Debug)]
pub(super) struct Feed {
    stopping: Arc<Stopping>,
}

#[derive(Debug, Default)]
struct Stopping {
    is_stopped: AtomicBool,
    stream: Mutex<Option<StreamControl>>,
    changed: Condvar,
}

impl Feed {
    pub(super) fn start(yard: Yard, events: EventSender) -> Self {
        let stopping = Arc::new(Stopping::default());
        let follower = Follower { yard, events, stopping: Arc::clone(&stopping), has_busy: false };
        if let Err(error) =
            thread::Builder::new().name("taskyard-feed".to_owned()).spawn(move || follower.follow_for_good())
        {
            tracing::error!(%error, "nothing is followed");
        }
        Self { stopping }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stopping.is_stopped.store(true, Ordering::SeqCst);
        let stream = self.stopping.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.iter().for_each(StreamControl::stop);
        self.stopping.changed.notify_all();
    }
}

struct Follower {
    yard: Yard,
    events: EventSender,
    stopping: Arc<Stopping>,
    /// Whether an agent is at work on the list.
    has_busy: bool,
}

impl Follower {
    /// Follows the list, and restarts after a failure: a database may be restarted, a directory may reappear.
    fn follow_for_good(mut self) {
        // Releases the tasks of dead agents immediately, rather than when an agent next writes.
        let warden = Warden::over(&self.yard);
        let _warden = warden.inspect_err(|error| tracing::debug!(%error, "nobody watches over leases"));
        let mut pause = SOON;
        while !self.is_stopped() {
            let begun = Instant::now();
            if let Err(error) = self.follow() {
                let words = Problem::from(error).report().message.clone();
                self.events.send(AppEvent::Lost(self.yard.list_id().clone(), words));
                pause = if begun.elapsed() > LATER { SOON } else { (pause * 2).min(LATER) };
                self.rest(pause);
            }
        }
    }

    fn follow(&mut self) -> Result<(), Error> {
        // Tasks whose leases ended unnoticed are released before the list is shown.
        if let Err(error) = self.yard.return_ended_leases() {
            tracing::debug!(%error, "ended leases are not returned");
        }
        let since = self.load()?;
        let list = self.yard.list_id().clone();
        let interest = Interest {
            lists: ListsFollowed::These(BTreeSet::from([list.clone()])),
            inboxes: Some(BTreeSet::from([self.yard.actor().clone()])),
            jobs: true,
            agents: true,
        };
        let cursor = Cursor { lists: BTreeMap::from([(list, since)]), ..Cursor::now() };
        let mut stream = self.yard.follow_only(interest, cursor)?;
        *self.stopping.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.control());
        self.tell_leases()?;
        let mut leases_told = Instant::now();
        let mut leases_moved = false;
        let mut trouble: Option<String> = None;
        while !self.is_stopped() {
            let apart = if leases_moved { LEASES_APART } else { LEASES };
            let until = (leases_moved || self.has_busy).then(|| leases_told + apart);
            if let Some(first) = stream.next_or_trouble(until)? {
                leases_moved |= self.send(first, &mut stream)?;
            }
            if stream.trouble() != trouble.as_deref() {
                trouble = stream.trouble().map(str::to_owned);
                let list = self.yard.list_id().clone();
                self.events
                    .send(trouble.clone().map_or(AppEvent::Regained(list.clone()), |why| AppEvent::Lost(list, why)));
            }
            let is_due = |apart| leases_told.elapsed() >= apart;
            if (leases_moved && is_due(LEASES_APART)) || (self.has_busy && is_due(LEASES)) {
                self.tell_leases()?;
                (leases_told, leases_moved) = (Instant::now(), false);
            }
        }
        Ok(())
    }

    /// Sends what has happened. Returns whether tasks changed.
    fn send(&mut self, first: Happening, stream: &mut Stream) -> Result<bool, Error> {
        let (mut commits, mut moved): (Vec<Event>, Invalidated) = Default::default();
        let mut next = Some(first);
        while let Some(happening) = next {
            match happening {
                Happening::Commit(commit) => {
                    moved.jobs |= commit.entries.iter().any(|entry| entry.op.is_elsewhere());
                    commits.push(commit);
                }
                Happening::Message { .. } => moved.mail = true,
                Happening::JobEnded(_) => moved.jobs = true,
                Happening::AgentCame { .. } | Happening::AgentWent { .. } => moved.team = true,
                Happening::WentBack { .. } => {
                    // The history has been replaced; everything before is covered by reading the list again.
                    self.load()?;
                    commits.clear();
                    moved = Invalidated { mail: true, jobs: true, team: true };
                }
                _ => {}
            }
            next = if commits.len() < BURST { stream.try_next()? } else { None };
        }
        let has_commits = !commits.is_empty();
        if has_commits {
            self.events.send(AppEvent::Commits(commits));
        }
        if moved != Invalidated::default() {
            self.events.send(AppEvent::Invalidated(moved));
        }
        Ok(has_commits)
    }

    /// Reads and sends the whole list. Returns its revision.
    fn load(&mut self) -> Result<Revision, Error> {
        let (yard, list) = (&self.yard, self.yard.list_id());
        let snapshot = yard.store().read(list)?;
        let mut live = LiveList::new(yard.rules());
        let (mut revision, exists) = (snapshot.revision(), snapshot.exists()?);
        match snapshot.live()? {
            Some(view) => {
                revision = view.revision();
                for id in view.ids() {
                    if let Some(image) = view.image(&id) {
                        let _ = live.put(&id, image.clone());
                    }
                }
            }
            None => {
                for task in snapshot.tasks()? {
                    match native::write(None, &task, yard.rules()) {
                        Ok(image) => live.put_read(&task, image),
                        Err(error) => tracing::warn!(task = %task.id, %error, "a task cannot be kept in memory"),
                    }
                }
            }
        }
        let problems = snapshot.problems()?;
        drop(snapshot);
        // For the client, an unreadable file does not exist; strict rules show the last known state of its task.
        for task in problems.iter().filter_map(|problem| problem.last_known.as_deref()) {
            if !yard.rules().is_client()
                && live.image(&task.id).is_none()
                && let Ok(image) = native::write(None, task, yard.rules())
            {
                live.put_read(task, image);
            }
        }
        let why = |problem: &UnreadableTask| (problem.task.clone(), cannot_be_read(&problem.file(), &problem.why));
        let unreadable = problems.iter().map(why).collect();
        let gone = if live.is_empty() { yard.gone()? } else { None };
        let watched = WatchedList::at(live, revision, yard.store().now()?.wall);
        let loaded = Loaded { list: list.clone(), watched, exists, gone, unreadable };
        self.events.send(AppEvent::Loaded(Box::new(loaded)));
        Ok(revision)
    }

    fn tell_leases(&mut self) -> Result<(), Error> {
        let list = self.yard.list_id();
        // If the store keeps followed lists in memory, read from there.
        let recollected = self.yard.store().recollect(list);
        let snapshot = recollected.map_or_else(|| self.yard.store().read(list), Ok)?;
        let leases = snapshot.leases()?;
        self.has_busy = match snapshot.live()? {
            Some(live) => live.counts()[Status::InProgress as usize] > 0,
            None => !leases.is_empty(),
        };
        drop(snapshot);
        let judged: Result<Vec<_>, _> =
            leases.into_iter().map(|lease| self.yard.judge(&lease).map(|state| (lease, state))).collect();
        let abandoned = if self.has_busy { self.yard.abandoned_tasks()? } else { Vec::new() };
        self.events.send(AppEvent::Leases(list.clone(), judged?, abandoned.into_iter().collect()));
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stopping.is_stopped.load(Ordering::SeqCst)
    }

    /// Sleeps for a while, or until stopped.
    fn rest(&self, span: Duration) {
        let stream = self.stopping.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_stopped() {
            drop(self.stopping.changed.wait_timeout(stream, span));
        }
    }
}
