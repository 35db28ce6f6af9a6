//! Following a list: the kernel tells that something moved, the journal tells what.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use taskyard_core::{Entry, Event, Revision};

use super::handle::Handle;
use crate::store::{HistoryQuery, Listener, StoreError, Subscription};

/// A burst of changes is looked at together.
const BURST: Duration = Duration::from_millis(3);
/// A long burst is looked at now and then all the same.
const LONGEST_BURST: Duration = Duration::from_millis(50);

enum Word {
    Moved,
    End,
}

/// Calls the listener for every commit after `since`, until the subscription is dropped.
pub(super) fn watch(handle: Arc<Handle>, since: Revision, to: Listener) -> Result<Subscription, StoreError> {
    let (sender, receiver) = channel();
    let watcher = watcher(&handle, sender.clone())?;
    let thread = thread::Builder::new()
        .name("taskyard-watch".to_owned())
        .spawn(move || follow(&handle, watcher, &receiver, since, &to))
        .map_err(StoreError::io("cannot watch", "."))?;
    Ok(Subscription::new(move || {
        let _ = sender.send(Word::End);
        // A listener may end its own subscription; it cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }))
}

fn follow(handle: &Handle, mut watcher: RecommendedWatcher, receiver: &Receiver<Word>, since: Revision, to: &Listener) {
    let mut told = since;
    let mut watched = add_paths(&mut watcher, handle);
    loop {
        let is_complete = handle.observe().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look at the list");
            true
        });
        tell(handle, &mut told, to);
        // Where a writer kept us from recording something, nothing needs to move again before it can be recorded.
        let word = if is_complete {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(LONGEST_BURST)
        };
        match word {
            Ok(Word::Moved) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let started = Instant::now();
        while started.elapsed() < LONGEST_BURST {
            match receiver.recv_timeout(BURST) {
                Ok(Word::Moved) => {}
                Ok(Word::End) => return,
                Err(_) => break,
            }
        }
        if !watched {
            watched = add_paths(&mut watcher, handle);
        }
    }
}

/// Tells the listener what the journal has beyond what it was told.
fn tell(handle: &Handle, told: &mut Revision, to: &Listener) {
    let Some(journal) = handle.journal_to_read() else { return };
    let entries = journal.select(&HistoryQuery { since: *told, ..HistoryQuery::default() });
    handle.give_back(journal);
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return tracing::warn!(%error, "cannot read the journal"),
    };
    for event in events(handle, entries) {
        *told = event.revision;
        if catch_unwind(AssertUnwindSafe(|| to(&event))).is_err() {
            tracing::error!(revision = event.revision.0, "a listener panicked");
        }
    }
}

fn events(handle: &Handle, entries: Vec<Entry>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for entry in entries {
        match events.last_mut() {
            Some(event) if event.revision == entry.revision => event.entries.push(entry),
            _ => events.push(Event { list: handle.list.clone(), revision: entry.revision, entries: vec![entry] }),
        }
    }
    events
}

fn watcher(handle: &Handle, sender: Sender<Word>) -> Result<RecommendedWatcher, StoreError> {
    let failed = |error: notify::Error| {
        StoreError::io("cannot watch", &handle.place.directory)(std::io::Error::other(error.to_string()))
    };
    notify::recommended_watcher(move |event: Result<notify::Event, notify::Error>| {
        let is_only_a_look = matches!(&event, Ok(event) if event.kind.is_access());
        if !is_only_a_look {
            let _ = sender.send(Word::Moved);
        }
    })
    .map_err(failed)
}

/// Watches the list and our memory of it, or the nearest directories above them that exist. Returns whether both are there.
fn add_paths(watcher: &mut RecommendedWatcher, handle: &Handle) -> bool {
    let mut is_complete = true;
    for path in [Some(&handle.place.directory), handle.place.sidecar.as_ref()].into_iter().flatten() {
        let nearest = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
        is_complete &= nearest == path;
        if let Err(error) = watcher.watch(nearest, RecursiveMode::NonRecursive) {
            tracing::warn!(%error, path = %nearest.display(), "cannot watch");
        }
    }
    is_complete
}
