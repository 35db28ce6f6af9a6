//! Being told at once that there may be something new in an inbox.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::TeamError;
use super::register::Teams;
use super::seat::Seat;
use crate::store::{PlacesWatched, Subscription};

/// A burst of changes is told of once.
const BURST: Duration = Duration::from_millis(2);
/// A long burst is told of now and then all the same.
const LONGEST_BURST: Duration = Duration::from_millis(50);
/// Where the kernel does not tell us that something moved, because it watches too much already, we look this often.
const UNTOLD: Duration = Duration::from_secs(1);

enum Word {
    Moved,
    End,
}

impl Teams {
    /// Calls `look` now and whenever something may have moved in the inboxes of a team, until the subscription is dropped.
    pub fn follow(&self, seat: &Seat, look: Box<dyn Fn() + Send>) -> Result<Subscription, TeamError> {
        let places = self.places.inbox_directories(&seat.team.name);
        let (sender, receiver) = channel();
        let moved = sender.clone();
        let watched = PlacesWatched::new(move || drop(moved.send(Word::Moved)));
        let thread = thread::Builder::new()
            .name("taskyard-inbox".to_owned())
            .spawn(move || attend(watched, &places, &receiver, &look))
            .map_err(TeamError::io("cannot watch", "inboxes"))?;
        Ok(Subscription::new(move || {
            let _ = sender.send(Word::End);
            // A listener may end its own subscription; it cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }))
    }
}

fn attend(mut watched: PlacesWatched, places: &[PathBuf], receiver: &Receiver<Word>, look: &(dyn Fn() + Send)) {
    let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    loop {
        // Before looking, so that nothing can move between the look and the watching.
        let is_told = watched.keep_up(&places);
        if catch_unwind(AssertUnwindSafe(look)).is_err() {
            tracing::error!("a listener panicked");
        }
        let word = if is_told {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(UNTOLD)
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
    }
}
