//! Telling a listener of every commit, past and coming.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use taskyard_core::{Event, Revision};

use super::list_cell::ListCell;
use crate::store::{Listener, StoreError, Subscription};

/// Tells the listener of every commit after `since`, on a thread of its own, until the subscription is dropped.
pub(super) fn watch(cell: &Arc<ListCell>, since: Revision, to: Listener) -> Result<Subscription, StoreError> {
    let ended = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(cell);
    let over = Arc::clone(&ended);
    let watcher = thread::Builder::new().name("taskyard-watch".to_owned());
    watcher
        .spawn(move || tell(&watched, since, &to, &over))
        .map_err(StoreError::io("cannot start a thread to watch", cell.list.as_str()))?;
    let cell = Arc::clone(cell);
    Ok(Subscription::new(move || {
        ended.store(true, Ordering::SeqCst);
        cell.wake_watchers();
    }))
}

fn tell(cell: &ListCell, mut seen: Revision, to: &Listener, ended: &AtomicBool) {
    while let Some(events) = wait_for_more(cell, seen, ended) {
        for event in &events {
            if ended.load(Ordering::SeqCst) {
                return;
            }
            if catch_unwind(AssertUnwindSafe(|| to(event))).is_err() {
                tracing::error!(revision = event.revision.0, "a listener panicked");
            }
            seen = event.revision;
        }
    }
}

fn wait_for_more(cell: &ListCell, seen: Revision, ended: &AtomicBool) -> Option<Vec<Event>> {
    let mut book = cell.book();
    loop {
        if ended.load(Ordering::SeqCst) {
            return None;
        }
        let events = book.after(seen);
        if !events.is_empty() {
            return Some(events.to_vec());
        }
        book = cell.grown.wait(book).unwrap_or_else(PoisonError::into_inner);
    }
}
