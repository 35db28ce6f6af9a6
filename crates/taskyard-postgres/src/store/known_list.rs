//! What this process knows of a list.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::live::LiveList;
use taskyard::core::{AttemptId, Entry, ListId, Rules, TaskId, Timestamp};
use taskyard::store::LiveView;
use taskyard::store::kit::{Commit, Home, ListState};

use super::recent_commits::RecentCommits;
use super::unconfirmed::{Extent, UnconfirmedChanges};
use super::writers_queue::WritersQueue;
use crate::connecting::TakesNoConnection;
use crate::epoch::Epoch;

/// A server that many lists are asked of forgets those that no caller has open when it knows so many.
const MOST: usize = 256;

/// The number of the next thread that has to do with a list.
static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The number of this thread.
    static THREAD: u64 = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
}

/// A list as this process knows it, shared by all callers that read or write it here.
#[derive(Debug)]
pub(super) struct KnownList {
    pub(super) list: ListId,
    /// Those of this process who want to write to it.
    pub(super) queue: WritersQueue,
    known: Mutex<Known>,
    /// The number of the thread that has `known` locked; 0 if none has.
    locked_by: AtomicU64,
    /// When a caller last asked for it.
    asked: Mutex<Instant>,
    /// How many follow it here. What is followed keeps its newest commits in memory.
    followers: AtomicUsize,
    /// Whether the database may have something newer, as followers were told.
    has_gap: AtomicBool,
    /// Locked by a follower that closes the gap: the others wait for what it reads.
    closing_gap: Mutex<()>,
    /// The call in which it was last found to be current.
    confirmed_in: AtomicU64,
}

/// A list at a revision, and what tells whether the database is still the one it was read from.
#[derive(Debug)]
pub(super) struct Known {
    /// The list's number in the database; none before it was found there.
    pub(super) id: Option<i64>,
    /// The list.
    pub(super) state: Arc<ListState>,
    /// The commit of its newest revision; `None` before the first.
    pub(super) head: Option<AttemptId>,
    /// How many changes of leases are in it.
    pub(super) lease_version: i64,
    /// The epoch of the database in which all this was read; `None` if it does not count.
    pub(super) epoch: Option<Epoch>,
    /// How its tasks hang together, once a caller has asked for that. It moves on with the list.
    live: Option<LiveList>,
    /// The newest commits, while the list is followed.
    pub(super) recent: RecentCommits,
    /// The channels on which commits to it are told; `None` before it was found.
    pub(super) channels: Option<Channels>,
    /// Whether the ties of its tasks are in the database.
    pub(super) has_ties: bool,
    /// What of it was heard and not read; `None` if all of it was read.
    heard: Option<UnconfirmedChanges>,
}

/// The channels on which commits to a list are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Channels {
    /// Roles that may read the list know it. That something happened is told there, and not what.
    pub(super) readers: String,
    /// Roles that may work on the list know it; `None` for the others. What happened is told there.
    pub(super) writers: Option<String>,
}

/// The list as a look found it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The list's number in the database.
    pub(super) id: i64,
    /// The list.
    pub(super) state: Arc<ListState>,
    /// The commit of its newest revision; `None` before the first.
    pub(super) head: Option<AttemptId>,
    /// How many changes of leases are in it.
    pub(super) lease_version: i64,
    /// The epoch of the database in which it was found.
    pub(super) epoch: Epoch,
    /// Whether the ties of its tasks are in the database.
    pub(super) has_ties: bool,
    /// The channels on which commits to it are told.
    pub(super) channels: Channels,
}

/// What is known of a list, locked. A thread that waited here for itself, or for a connection that another thread keeps while it waits
/// for this one, would wait for ever: both end in a panic instead.
#[derive(Debug)]
pub(super) struct KnownGuard<'a> {
    locked_by: &'a AtomicU64,
    known: MutexGuard<'a, Known>,
    _no_connection: TakesNoConnection,
}

impl Deref for KnownGuard<'_> {
    type Target = Known;

    fn deref(&self) -> &Known {
        &self.known
    }
}

impl DerefMut for KnownGuard<'_> {
    fn deref_mut(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl Drop for KnownGuard<'_> {
    fn drop(&mut self) {
        self.locked_by.store(0, Ordering::Relaxed);
    }
}

/// A list that stands still while it is asked how its tasks hang together.
struct Standing<'a>(KnownGuard<'a>);

impl Deref for Standing<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        self.0.live.as_ref().expect("it was made before it was handed out")
    }
}

impl KnownList {
    fn new(list: ListId, shown: &str) -> Self {
        let home = Home::Images(PathBuf::from(shown).join(list.directory()));
        let known = Mutex::new(Known::nothing(home));
        Self {
            list,
            queue: WritersQueue::default(),
            known,
            locked_by: AtomicU64::new(0),
            asked: Mutex::new(Instant::now()),
            followers: AtomicUsize::new(0),
            has_gap: AtomicBool::new(false),
            closing_gap: Mutex::default(),
            confirmed_in: AtomicU64::new(0),
        }
    }

    /// Counts one more follower. It has not read anything yet, so the first look asks the database.
    pub(super) fn add_follower(&self) {
        self.followers.fetch_add(1, Ordering::SeqCst);
        self.note_gap();
    }

    /// Counts one follower less.
    pub(super) fn remove_follower(&self) {
        self.followers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Tells whether anybody follows it here.
    pub(super) fn is_followed(&self) -> bool {
        self.followers.load(Ordering::SeqCst) > 0
    }

    /// Takes note that the database may have something newer.
    pub(super) fn note_gap(&self) {
        self.has_gap.store(true, Ordering::SeqCst);
    }

    /// Reads what is newer if the database may have something newer. Other followers wait meanwhile.
    pub(super) fn close_gap<E>(&self, read: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let _closing = self.closing_gap.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the look, so that what is told meanwhile is looked for again.
        if !self.has_gap.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        read().inspect_err(|_| self.note_gap())
    }

    /// Takes note that a call has found it to be current.
    pub(super) fn confirm_in(&self, call: Option<u64>) {
        self.confirmed_in.store(call.unwrap_or(0), Ordering::SeqCst);
    }

    /// Tells whether a call has found it to be current. Nobody but that call has an earlier moment to answer for.
    pub(super) fn is_confirmed_in(&self, call: u64) -> bool {
        self.confirmed_in.load(Ordering::SeqCst) == call
    }

    /// Locks what is known. This thread must not ask the database meanwhile, nor lock it again.
    pub(super) fn known(&self) -> KnownGuard<'_> {
        let this_thread = THREAD.with(|number| *number);
        // Only this thread writes its number there, so any other is that of another thread, however old.
        let is_ours = self.locked_by.load(Ordering::Relaxed) == this_thread;
        assert!(!is_ours, "a thread that has list `{}` in memory locked must not lock it again", self.list);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.locked_by.store(this_thread, Ordering::Relaxed);
        KnownGuard { locked_by: &self.locked_by, known, _no_connection: TakesNoConnection::new() }
    }

    /// Returns the list as it is known now, with how its tasks hang together at a moment of the server's clock.
    pub(super) fn live(&self, rules: Rules, now: Timestamp) -> LiveView<'_> {
        let mut known = self.known();
        known.judge(rules, now);
        let revision = known.state.revision;
        LiveView::new(Standing(known), revision)
    }

    /// Does the same for the holder of the list's row, which found it so; `None` if another list has taken its place in memory.
    pub(super) fn live_as(&self, found: &Found, rules: Rules, now: Timestamp) -> Option<LiveView<'_>> {
        let mut known = self.known();
        let is_same = known.state.revision == found.state.revision
            && known.head == found.head
            && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&found.epoch));
        is_same.then(|| {
            known.judge(rules, now);
            LiveView::new(Standing(known), found.state.revision)
        })
    }

    fn asked(&self) -> MutexGuard<'_, Instant> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn nothing(home: Home) -> Self {
        let state = Arc::new(ListState { home, ..ListState::default() });
        let recent = RecentCommits::default();
        let (id, head, epoch, live, channels, heard) = Default::default();
        Self { id, state, head, lease_version: 0, epoch, live, recent, channels, has_ties: false, heard }
    }

    /// Returns a list that was read whole.
    pub(super) fn read(found: Found) -> Self {
        let Found { id, state, head, lease_version, epoch, has_ties, channels } = found;
        let (recent, id, epoch) = (RecentCommits::after(state.revision, head), Some(id), Some(epoch));
        let (live, channels, heard) = (None, Some(channels), None);
        Self { id, state, head, lease_version, epoch, live, recent, channels, has_ties, heard }
    }

    /// Returns how far the list is known, with what was heard.
    pub(super) fn extent(&self) -> Extent {
        Extent { revision: self.state.revision, head: self.head, lease_version: self.lease_version }
    }

    /// Returns how far the list was read.
    pub(super) fn extent_read(&self) -> Extent {
        self.heard.as_ref().map_or_else(|| self.extent(), |heard| heard.read)
    }

    /// Returns what was heard and not read.
    pub(super) fn heard(&self) -> Option<&UnconfirmedChanges> {
        self.heard.as_ref()
    }

    /// Applies a commit that was heard, after which the leases have changed this often; returns false, and nothing has changed, if it has
    /// to be read.
    pub(super) fn hear(&mut self, commit: Commit, lease_version: i64, is_followed: bool) -> bool {
        let read = self.extent();
        let heard = self.heard.get_or_insert_with(|| UnconfirmedChanges::after(read, &self.state));
        if !heard.has_room_for(commit.entries.len()) {
            return false;
        }
        heard.note(&commit, lease_version, &self.state);
        self.change(commit.entries.iter().map(|entry| &entry.task), |state| state.apply(&commit));
        self.lease_version = lease_version;
        if let Some(first) = commit.entries.first() {
            self.head = first.attempt;
            self.note_recent(commit.entries, is_followed);
        }
        true
    }

    /// Takes note that everything that was heard has been found in the database.
    pub(super) fn note_heard_is_read(&mut self) {
        self.heard = None;
    }

    /// Takes back what was heard and not read.
    pub(super) fn unhear(&mut self) {
        let Some(heard) = self.heard.take() else { return };
        let (read, tasks) = (heard.read, heard.tasks());
        tracing::warn!(
            revision = self.state.revision.0,
            "a notification told of a commit that the database does not have"
        );
        self.change(&tasks, |state| heard.take_back(state));
        (self.head, self.lease_version) = (read.head, read.lease_version);
        self.recent.skip_to(read.revision, read.head);
    }

    /// Lets nothing that is known count any more: the list is read anew. Callers that look at it meanwhile see it as it was.
    pub(super) fn distrust(&mut self) {
        self.epoch = None;
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        *self = Self::nothing(self.state.home.clone());
    }

    /// Returns the list with its number, once it has one.
    pub(super) fn found(&self) -> Option<Found> {
        let (state, epoch, channels) = (Arc::clone(&self.state), self.epoch.clone()?, self.channels.clone()?);
        let Self { head, lease_version, has_ties, .. } = *self;
        Some(Found { id: self.id?, state, head, lease_version, epoch, has_ties, channels })
    }

    /// Changes the list. These of its tasks may differ afterwards.
    pub(super) fn change<'a, T>(
        &mut self,
        tasks: impl IntoIterator<Item = &'a TaskId>,
        change: impl FnOnce(&mut ListState) -> T,
    ) -> T {
        // A reader that is looking at the list keeps what it sees.
        let changed = change(Arc::make_mut(&mut self.state));
        if let Some(live) = &mut self.live {
            for id in tasks {
                match self.state.tasks.get(id).map(|kept| (&kept.task, &kept.image)) {
                    Some((Ok(task), image)) => live.put_read(task, image.clone()),
                    Some((Err(_), _)) | None => live.remove(id),
                }
            }
        }
        changed
    }

    /// Remembers the next commit for followers, after it was applied.
    pub(super) fn note_recent(&mut self, entries: Vec<Entry>, is_followed: bool) {
        match is_followed {
            true => self.recent.push(entries),
            false => self.recent.skip_to(self.state.revision, self.head),
        }
    }

    /// Finds out how the tasks hang together, as far as that is not known.
    fn judge(&mut self, rules: Rules, now: Timestamp) {
        let state = &self.state;
        let live = self.live.get_or_insert_with(|| {
            let mut live = LiveList::new(rules);
            for kept in state.tasks.values() {
                if let Ok(task) = &kept.task {
                    live.put_read(task, kept.image.clone());
                }
            }
            live
        });
        live.judge(now);
    }
}

/// Every list that this process has had to do with.
#[derive(Debug)]
pub(super) struct KnownLists {
    by_directory: Mutex<HashMap<String, Arc<KnownList>>>,
    looked_through: Mutex<Instant>,
    keeps: Duration,
}

impl KnownLists {
    /// Returns a memory of lists that lets go of those that no caller has asked for in so long.
    pub(super) fn that_keeps(keeps: Duration) -> Self {
        Self { by_directory: Mutex::default(), looked_through: Mutex::new(Instant::now()), keeps }
    }

    fn by_directory(&self) -> MutexGuard<'_, HashMap<String, Arc<KnownList>>> {
        self.by_directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a list.
    pub(super) fn get(&self, list: &ListId, shown: &str) -> Arc<KnownList> {
        let mut lists = self.by_directory();
        let is_full = lists.len() >= MOST && !lists.contains_key(list.directory());
        if is_full || self.is_time_to_look_through() {
            // A caller that comes back to one of them reads it anew.
            lists.retain(|_, known| Arc::strong_count(known) > 1 || (!is_full && known.asked().elapsed() < self.keeps));
        }
        let new = || Arc::new(KnownList::new(list.clone(), shown));
        let known = Arc::clone(lists.entry(list.directory().to_owned()).or_insert_with(new));
        *known.asked() = Instant::now();
        known
    }

    /// Returns the lists of which something is kept.
    pub(super) fn kept(&self) -> Vec<ListId> {
        self.by_directory()
            .values()
            .filter(|known| known.known().id.is_some())
            .map(|known| known.list.clone())
            .collect()
    }

    fn is_time_to_look_through(&self) -> bool {
        let mut looked_through = self.looked_through.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = looked_through.elapsed() >= self.keeps / 4;
        if is_time {
            *looked_through = Instant::now();
        }
        is_time
    }
}
