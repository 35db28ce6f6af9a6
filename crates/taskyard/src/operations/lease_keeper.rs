//! Keeping a lease alive while its holder works, and telling when it is lost.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taskyard_core::Lease;
use taskyard_core::rules::leases::fate::{Fate, Loss};

use super::lease_hold::Hold;
use crate::clock;
use crate::{Error, Yard};

/// A lease is renewed when this part of its time has passed: two renewals may fail before it ends.
const PARTS: u32 = 3;
/// How long after a failure the next attempt is made, at most.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);
/// How often a lease without a time of its own is looked at.
const WITHOUT_TIME: Duration = Duration::from_secs(60);

/// Renews a lease on a thread of its own until it is finished, dropped, or the lease is lost.
#[derive(Debug)]
pub struct Keeper {
    hold: Hold,
    tell: Sender<KeeperSignal>,
    thread: Option<JoinHandle<Option<Loss>>>,
}

/// Lets a keeper look at once whether the lease still counts.
#[derive(Clone, Debug)]
pub struct Nudge {
    hold: Hold,
    tell: Sender<KeeperSignal>,
}

#[derive(Debug)]
enum KeeperSignal {
    Look,
    Finish,
}

impl Yard {
    /// Keeps a lease of the actor alive while it works on the task. The keeper calls `lost` once, on its own thread, when the task is no
    /// longer the actor's: another agent overruled the lease, the task was removed, or the store stayed out of reach for as long as the
    /// lease lives. The actor must stop working then. The keeper does not call it where the actor completed the task itself.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use taskyard::core::{AgentName, ListId, Rules};
    /// # use taskyard::operations::{Claim, ClaimOutcome, NewTask};
    /// # use taskyard::store::MemoryStore;
    /// # use taskyard::Yard;
    /// # let store = Arc::new(MemoryStore::new(Rules::Strict));
    /// # let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("ana")?);
    /// # yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    /// let ClaimOutcome::Claimed(claimed) = yard.claim_next(&Claim::default())? else { panic!("it is ready") };
    /// let keeper = yard.keep(&claimed.lease, |loss| eprintln!("stop: {loss}"))?;
    /// // The work, however long it takes.
    /// assert_eq!(keeper.finish(), None, "it was ours to the end");
    /// yard.proving(claimed.lease.token).done(&claimed.task.id)?.done()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep(&self, lease: &Lease, lost: impl FnOnce(&Loss) + Send + 'static) -> Result<Keeper, Error> {
        let since = self.store().read(self.list_id())?.revision();
        let hold = Hold { yard: self.proving(lease.token), task: lease.task.clone(), token: lease.token, since };
        Ok(Keeper::of(hold, lease.ttl.unwrap_or(WITHOUT_TIME * PARTS), lost))
    }
}

impl Keeper {
    /// Begins to renew a lease that lives for `ttl`. `lost` is called once, on another thread, if the lease is lost.
    pub fn of(hold: Hold, ttl: Duration, lost: impl FnOnce(&Loss) + Send + 'static) -> Self {
        let (tell, hear) = mpsc::channel();
        let work = {
            let hold = hold.clone();
            move || keep(&hold, ttl, &hear).inspect(|loss| lost(loss))
        };
        let thread = thread::Builder::new().name("lease".into()).spawn(work);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "a lease is not renewed")).ok();
        Self { hold, tell, thread }
    }

    /// Returns a handle that lets the keeper look at once.
    pub fn nudge(&self) -> Nudge {
        Nudge { hold: self.hold.clone(), tell: self.tell.clone() }
    }

    /// Ends the renewing; returns how the task was lost, where it was.
    pub fn finish(mut self) -> Option<Loss> {
        self.end()
    }

    fn end(&mut self) -> Option<Loss> {
        let _ = self.tell.send(KeeperSignal::Finish);
        self.thread.take()?.join().ok()?
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Nudge {
    /// Lets the keeper look if the lease does not seem to count any more.
    pub fn look(&self) {
        let is_ours = self.hold.is_ours().inspect_err(|error| tracing::debug!(%error, "cannot look at a lease"));
        if matches!(is_ours, Ok(false)) {
            let _ = self.tell.send(KeeperSignal::Look);
        }
    }
}

fn keep(hold: &Hold, ttl: Duration, hear: &Receiver<KeeperSignal>) -> Option<Loss> {
    let (interval, mut renewed) = (ttl / PARTS, clock::since_boot());
    let mut pause = interval;
    loop {
        match hear.recv_timeout(pause) {
            Ok(KeeperSignal::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(KeeperSignal::Finish) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        // The lease gets its time from when it was asked for.
        let asked = clock::since_boot();
        match hold.renew() {
            Ok(None) => (pause, renewed) = (interval, asked),
            // The agent did it itself, and may have something left to say.
            Ok(Some(Fate::Completed)) => return None,
            Ok(Some(Fate::Lost(loss))) => return Some(loss),
            Err(error) => {
                tracing::warn!(task = %hold.task, %error, "a lease is not renewed, trying again");
                if u128::from((clock::since_boot() - renewed).unsigned_abs()) >= ttl.as_nanos() {
                    return Some(Loss::NotRenewed);
                }
                pause = interval.min(AFTER_A_FAILURE);
            }
        }
    }
}
