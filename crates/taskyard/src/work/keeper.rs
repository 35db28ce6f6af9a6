//! Keeping a lease alive while a command runs, and ending the command when the lease is lost.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taskyard_core::rules::leases::fate::{Fate, Loss};

use super::hold::Hold;
use crate::process::Stop;

/// A lease is renewed when this part of its time has passed: two renewals may fail before it ends.
const PARTS: u32 = 3;
/// How long after a failure the next attempt is made, at most.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Renews a lease until it is told to finish.
pub(super) struct Keeper {
    hold: Hold,
    tell: Sender<KeeperSignal>,
    thread: Option<JoinHandle<Option<Loss>>>,
}

/// Lets a keeper look at once whether the lease still counts.
#[derive(Clone, Debug)]
pub(super) struct Nudge {
    hold: Hold,
    tell: Sender<KeeperSignal>,
}

#[derive(Debug)]
enum KeeperSignal {
    Look,
    Finish,
}

impl Keeper {
    /// Begins to renew. When the lease is lost, everything in `stop` is asked to end.
    pub(super) fn of(hold: Hold, ttl: Duration, stop: Stop) -> Self {
        let (tell, hear) = mpsc::channel();
        let work = {
            let hold = hold.clone();
            move || keep(&hold, ttl / PARTS, &stop, &hear)
        };
        let thread = thread::Builder::new().name("lease".into()).spawn(work);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "a lease is not renewed")).ok();
        Self { hold, tell, thread }
    }

    /// Returns what lets it look at once.
    pub(super) fn nudge(&self) -> Nudge {
        Nudge { hold: self.hold.clone(), tell: self.tell.clone() }
    }

    /// Ends the renewing; returns how the task was lost, where it was.
    pub(super) fn finish(self) -> Option<Loss> {
        let _ = self.tell.send(KeeperSignal::Finish);
        self.thread?.join().ok()?
    }
}

impl Nudge {
    /// Lets the keeper look where the lease does not seem to count any more.
    pub(super) fn look(&self) {
        let is_ours = self.hold.is_ours().inspect_err(|error| tracing::debug!(%error, "cannot look at a lease"));
        if matches!(is_ours, Ok(false)) {
            let _ = self.tell.send(KeeperSignal::Look);
        }
    }
}

fn keep(hold: &Hold, interval: Duration, stop: &Stop, hear: &Receiver<KeeperSignal>) -> Option<Loss> {
    let mut pause = interval;
    loop {
        match hear.recv_timeout(pause) {
            Ok(KeeperSignal::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(KeeperSignal::Finish) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        match hold.renew() {
            Ok(None) => pause = interval,
            // The agent did it itself, and may have something left to say.
            Ok(Some(Fate::Completed)) => return None,
            Ok(Some(Fate::Lost(loss))) => {
                stop.ask();
                return Some(loss);
            }
            Err(error) => {
                tracing::warn!(task = %hold.task, %error, "a lease is not renewed, trying again");
                pause = interval.min(AFTER_A_FAILURE);
            }
        }
    }
}
