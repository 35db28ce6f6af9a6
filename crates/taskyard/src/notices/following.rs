//! Hearing of notices as they are queued: the kernel tells that the database moved, the database tells what.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taskyard_core::ListId;

use super::stamp::{GRAIN, Stamp};
use super::{MachineNotices, NoticeListener};
use crate::machine::{Machine, MachineError};
use crate::store::Subscription;
use crate::watching::PlacesWatched;

/// Where the kernel does not tell us that something moved, because it watches too much already, we look this often.
const UNTOLD: Duration = Duration::from_secs(1);
/// Where it does, we look this often all the same, should it have lost count.
const TOLD: Duration = Duration::from_secs(60);

enum Word {
    Moved,
    End,
}

/// Calls a listener for every notice that is queued on a list from now on, until the subscription is dropped.
pub(super) fn follow(
    notices: &MachineNotices,
    list: &ListId,
    to: NoticeListener,
) -> Result<Subscription, MachineError> {
    let (sender, receiver) = channel();
    let moved = sender.clone();
    let mut watched = PlacesWatched::new(move || {
        let _ = moved.send(Word::Moved);
    });
    // There is nothing to watch before there is a directory. Where it cannot be made, nothing will be queued either.
    if let Err(error) = Machine::open(notices.data()) {
        tracing::debug!(%error, "no notices can be queued");
    }
    // Watching begins before the first look, so that nothing falls between them.
    let is_told = watched.keep_up(&[notices.data()]);
    let known = notices.jobs_told_of(list)?;
    let (followed, list) = (notices.clone(), list.clone());
    let thread = thread::Builder::new()
        .name("taskyard-notices".to_owned())
        .spawn(move || {
            let pause = if is_told { TOLD } else { UNTOLD };
            tell_what_comes(&followed, &list, known, &receiver, pause, &to);
            drop(watched);
        })
        .map_err(|source| MachineError::Io { doing: "cannot watch", path: notices.data().to_owned(), source })?;
    Ok(Subscription::new(move || {
        let _ = sender.send(Word::End);
        // A listener may end its own subscription; it cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }))
}

fn tell_what_comes(
    notices: &MachineNotices,
    list: &ListId,
    mut known: HashSet<String>,
    receiver: &Receiver<Word>,
    pause: Duration,
    to: &NoticeListener,
) {
    loop {
        // Before looking, so that a change in between is looked at next time.
        let stamp = Stamp::of(notices.data());
        match notices.queued_on(list, &known) {
            Ok(new) => {
                for notice in new {
                    to(&notice);
                    known.insert(notice.job.id.as_str().to_owned());
                }
            }
            Err(error) => tracing::warn!(%error, "cannot look for notices"),
        }
        if !is_to_look_again(notices, &stamp, receiver, pause) {
            return;
        }
    }
}

/// Waits until the database may hold more than was seen; returns whether anybody still wants to know.
fn is_to_look_again(notices: &MachineNotices, seen: &Stamp, receiver: &Receiver<Word>, pause: Duration) -> bool {
    let longest = if seen.is_settled() { pause } else { GRAIN };
    loop {
        match receiver.recv_timeout(longest) {
            Ok(Word::Moved) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => return false,
        }
        // One change of the database moves its files several times.
        while let Ok(word) = receiver.try_recv() {
            if matches!(word, Word::End) {
                return false;
            }
        }
        // Looking moves files beside the database, too, and must not make us look again.
        if Stamp::of(notices.data()) != *seen {
            return true;
        }
    }
}
