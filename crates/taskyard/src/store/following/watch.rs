//! Following a list: the kernel tells that something moved, the journal tells what.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::{Entry, Event, Revision};

use super::Followed;
use crate::store::{HistoryQuery, Listener, StoreError, Subscription};
use crate::watching::PlacesWatched;

/// A burst of changes is looked at together.
const BURST: Duration = Duration::from_millis(3);
/// A long burst is looked at now and then all the same.
const LONGEST_BURST: Duration = Duration::from_millis(50);
/// Whoever keeps us from recording something may do so for long, suspended say: then it is enough to try this often.
const SLOWEST_TRY: Duration = Duration::from_secs(5);

/// While changes keep coming, looking at the files takes one part of the time and resting so many: what our own programs do is
/// told from the journal meanwhile, and many watchers of a busy list leave its writers room to work.
const REST: u32 = 4;
/// However long a look took, the next one begins after this.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Where the kernel does not tell us that something moved, because it watches too much already, we look this often.
const UNTOLD: Duration = Duration::from_secs(1);

/// So many revisions of the past are read at once.
const PAGE: usize = 256;

enum Word {
    Moved,
    End,
}

/// The words that are waiting to be heard.
struct Words {
    receiver: Receiver<Word>,
    is_waiting: Arc<AtomicBool>,
    /// Whether the subscription has been dropped.
    is_over: Arc<AtomicBool>,
}

impl Words {
    /// Waits for the next word.
    fn hear(&self, longest: Option<Duration>) -> Result<Word, RecvTimeoutError> {
        let word = match longest {
            Some(longest) => self.receiver.recv_timeout(longest),
            None => self.receiver.recv().map_err(RecvTimeoutError::from),
        };
        if matches!(word, Ok(Word::Moved)) {
            // Before the look that follows: what moves from here on is told again.
            self.is_waiting.store(false, Ordering::SeqCst);
        }
        word
    }
}

/// Calls the listener for every commit after `since`, until the subscription is dropped. The listener itself is dropped before that
/// where there is nothing to follow any more: a newer Taskyard has the journal.
pub fn watch<F: Followed + 'static>(
    followed: Arc<F>,
    since: Revision,
    to: Listener,
) -> Result<Subscription, StoreError> {
    let (sender, receiver) = channel();
    let words = Words { receiver, is_waiting: Arc::default(), is_over: Arc::default() };
    let (moved, is_waiting) = (sender.clone(), Arc::clone(&words.is_waiting));
    let is_over = Arc::clone(&words.is_over);
    let places = PlacesWatched::new(move || {
        // However much happens, and it may be next to our files, at most one word of it waits to be heard.
        if !is_waiting.swap(true, Ordering::SeqCst) {
            let _ = moved.send(Word::Moved);
        }
    });
    let thread = thread::Builder::new()
        .name("taskyard-watch".to_owned())
        .spawn(move || follow(&*followed, places, &words, since, &to))
        .map_err(StoreError::io("cannot watch", "."))?;
    Ok(Subscription::new(move || {
        is_over.store(true, Ordering::SeqCst);
        let _ = sender.send(Word::End);
        // A listener may end its own subscription; it cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }))
}

fn follow(followed: &dyn Followed, mut places: PlacesWatched, words: &Words, since: Revision, to: &Listener) {
    let mut told = since;
    let mut next_try = LONGEST_BURST;
    let mut rested = Instant::now();
    loop {
        // Before looking, so that nothing can move between the look and the watching.
        let is_told = places.keep_up(&followed.places());
        // What is journaled already need not wait until the files have been looked at.
        if tell(followed, &mut told, to, &words.is_over).is_break() {
            return;
        }
        let looking = Instant::now();
        let left_to_rest = rested.saturating_duration_since(looking);
        let word = if left_to_rest.is_zero() {
            let is_complete = followed.observe().unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot look at the list");
                true
            });
            rested = Instant::now() + (looking.elapsed() * REST).min(LONGEST_REST);
            if tell(followed, &mut told, to, &words.is_over).is_break() {
                return;
            }
            // Where a writer kept us from recording something, nothing needs to move again before it can be recorded.
            let word = match (is_complete, is_told) {
                (true, true) => words.hear(None),
                (true, false) => words.hear(Some(UNTOLD)),
                (false, _) => words.hear(Some(next_try)),
            };
            let nothing_moved = matches!(word, Err(RecvTimeoutError::Timeout));
            next_try = if nothing_moved { (next_try * 2).min(SLOWEST_TRY) } else { LONGEST_BURST };
            word
        } else {
            words.hear(Some(left_to_rest))
        };
        match word {
            Ok(Word::Moved) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let started = Instant::now();
        while started.elapsed() < LONGEST_BURST {
            match words.hear(Some(BURST)) {
                Ok(Word::Moved) => {}
                Ok(Word::End) => return,
                Err(_) => break,
            }
        }
    }
}

/// Tells the listener what the journal has beyond what it was told, a page at a time. Breaks off where a newer Taskyard has the journal
/// now.
fn tell(followed: &dyn Followed, told: &mut Revision, to: &Listener, is_over: &AtomicBool) -> ControlFlow<()> {
    loop {
        let entries = followed.entries(&HistoryQuery { since: *told, oldest: Some(PAGE), ..HistoryQuery::default() });
        let entries = match entries {
            Ok(entries) if entries.is_empty() => return ControlFlow::Continue(()),
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(%error, "cannot read the journal");
                let is_newer = matches!(error, StoreError::NewerJournal { .. });
                return if is_newer { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
        };
        for event in events(followed, entries) {
            // Whoever ends it waits for this thread.
            if is_over.load(Ordering::SeqCst) {
                return ControlFlow::Continue(());
            }
            *told = event.revision;
            if catch_unwind(AssertUnwindSafe(|| to(&event))).is_err() {
                tracing::error!(revision = event.revision.0, "a listener panicked");
            }
        }
    }
}

fn events(followed: &dyn Followed, entries: Vec<Entry>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for entry in entries {
        match events.last_mut() {
            Some(event) if event.revision == entry.revision => event.entries.push(entry),
            _ => events.push(Event { list: followed.list().clone(), revision: entry.revision, entries: vec![entry] }),
        }
    }
    events
}
