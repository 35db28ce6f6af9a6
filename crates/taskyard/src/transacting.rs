//! Making one transaction of an operation, until it has happened or cannot.

use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AttemptId, Event, ListId, Op, Revision};

use crate::operations::{Halt, show_life, stage_ended_leases};
use crate::store::{HistoryQuery, Signature, StoreError, Txn, TxnPair};
use crate::yard::{DEFAULT_PATIENCE, Expectation};
use crate::{Error, Outcome, Yard};

/// How often a change is tried again when other programs keep changing what it read.
const ATTEMPTS: u32 = 16;
/// A store whose answer was lost is asked again after this long, then after twice that, and so on.
const BREATH: Duration = Duration::from_millis(50);

/// What a transaction on two lists did to each.
type Events = [Option<Event>; 2];

impl Yard {
    /// Tells the log of a commit, and notes which list was written to.
    fn publish(&self, event: Option<&Event>) {
        let Some(event) = event else { return };
        for entry in &event.entries {
            let done = match (&entry.before, &entry.after) {
                (None, _) => "created",
                (_, None) => "removed",
                (Some(_), Some(_)) => "changed",
            };
            tracing::info!(task = %entry.task, list = %event.list, revision = event.revision.0, op = %entry.op, "{done}");
        }
        self.note_commit(event);
    }

    /// Judges in a transaction whether a task is as the caller expects it.
    fn judge_expectation(&self, txn: &dyn Txn) -> Result<(), Halt> {
        let Some(Expectation { task, is_met }) = self.expectation() else { return Ok(()) };
        match txn.find(task)?.task() {
            Some(current) if !is_met(&current) => {
                Err(Refusal::NotAsExpected { task: task.clone(), current: Box::new(current) }.into())
            }
            _ => Ok(()),
        }
    }

    /// Runs one transaction on the list and publishes what it did.
    ///
    /// The closure stages changes and returns its answer, or halts: then nothing has happened, whatever it had staged. It may
    /// run several times, so it has no side effects. It may say more of the change in the signature it is given.
    pub(crate) fn transact<T>(
        &self,
        op: Op,
        mut change: impl FnMut(&mut dyn Txn, &mut Signature) -> Result<T, Halt>,
    ) -> Result<Outcome<(T, Option<Event>)>, Error> {
        let mut has_looked_again = false;
        let attempt = || loop {
            self.put_back_stale_writes();
            let mut txn = self.open(self.list_id())?;
            let (mut signature, since) = (Signature::new(self.actor().clone(), op), txn.revision());
            let judged = self.judge_expectation(&*txn);
            let answer = match judged.and_then(|()| change(&mut *txn, &mut signature)) {
                // What was judged may be what a stale write left there.
                Err(Halt::Refused(refusal)) if !has_looked_again && txn.has_met_outside_writes()? => {
                    drop(txn);
                    has_looked_again = true;
                    if !self.put_back_unrecorded_writes()? {
                        return Err(Halt::Refused(refusal));
                    }
                    continue;
                }
                answer => answer?,
            };
            if self.rehearses() {
                return Ok((answer, None));
            }
            show_life(&mut *txn, self)?;
            match txn.commit(&signature) {
                Err(lost @ StoreError::Unavailable { .. }) => {
                    if let Some(event) = self.commit_of(signature.attempt, since, lost)? {
                        return Ok((answer, Some(event)));
                    }
                }
                committed => return Ok((answer, committed.inspect_err(|error| self.publish_unfinished(error))?)),
            }
        };
        let outcome = persist(self.patience(), attempt)?;
        if let Outcome::Done((_, event)) = &outcome {
            self.publish(event.as_ref());
        }
        Ok(outcome)
    }

    /// Publishes a commit that exists and could not be finished; its error is the answer to the caller that asked for it.
    fn publish_unfinished(&self, error: &StoreError) {
        if let StoreError::Unfinished { commit, .. } = error {
            self.publish(commit.as_deref());
        }
    }

    /// Returns what came of an attempt at a commit whose answer was lost; none where it did not happen. Fails as the commit did where
    /// the store stays out of reach or does not say.
    fn commit_of(&self, attempt: AttemptId, since: Revision, lost: StoreError) -> Result<Option<Event>, StoreError> {
        for breath in 1..=ATTEMPTS {
            tracing::warn!(error = %lost, "the answer to a commit was lost");
            thread::sleep(BREATH * breath);
            // The holder of the turn knows: what was under way before has ended.
            let asked = self.store().write(self.list_id()).and_then(|_turn| {
                let query = HistoryQuery { attempt: Some(attempt), since, ..HistoryQuery::default() };
                self.store().history(self.list_id(), &query)
            });
            match asked {
                Ok(entries) => {
                    let event = |revision| Event { list: self.list_id().clone(), revision, entries: entries.clone() };
                    return Ok(entries.first().map(|first| event(first.revision)));
                }
                // One that went back in time says it when it is asked again.
                Err(StoreError::Unavailable { .. } | StoreError::Conflict { .. }) => {}
                // A store that does not say has not said that nothing happened, either.
                Err(_) => break,
            }
        }
        Err(lost)
    }

    /// Looks at the list while no other writer is at it, and changes nothing.
    pub(crate) fn look_in_turn<T>(
        &self,
        mut look: impl FnMut(&dyn Txn) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 1..ATTEMPTS {
            match self.store().write(self.list_id()) {
                // The store is another than it was: the next look is at what is there now.
                Err(StoreError::Conflict { .. }) => {}
                opened => return look(&*opened?),
            }
        }
        look(&*self.store().write(self.list_id())?)
    }

    /// Opens a transaction in which every lease counts: what dead ones held has come back before.
    fn open(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        self.prepare_to_write(list)?;
        loop {
            let mut txn = match self.patience() {
                DEFAULT_PATIENCE => self.store().write(list)?,
                patience => self.store().write_within(list, patience)?,
            };
            let Some(signature) = stage_ended_leases(&mut *txn, self)? else { return Ok(txn) };
            self.announce_end(&signature, even_unfinished(txn.commit(&signature))?.as_ref());
        }
    }

    /// Tells the listeners, and the members that remain in a team, that leases of an agent have ended and its tasks came back. The process
    /// that recorded it tells them, so that they are told once; it holds no lock any more.
    fn announce_end(&self, signature: &Signature, event: Option<&Event>) {
        self.publish(event);
        let is_told_later = self.departing() == Some(&signature.actor);
        if let (Some(notice), Some(_), false) = (&signature.remark.notice, event, is_told_later) {
            self.tell_remaining(&signature.actor, notice, None);
        }
    }

    /// Makes one transaction by itself until it ends otherwise than with a conflict, and publishes what it did.
    pub(crate) fn commit_alone(
        &self,
        signature: &Signature,
        mut stage: impl FnMut(&mut dyn Txn) -> Result<bool, StoreError>,
    ) -> Result<bool, Error> {
        let outcome = persist(self.patience(), || {
            let mut txn = self.open(self.list_id())?;
            Ok(if stage(&mut *txn)? { even_unfinished(txn.commit(signature))? } else { None })
        })?;
        let Outcome::Done(event) = outcome else { return Ok(false) };
        self.publish(event.as_ref());
        Ok(event.is_some())
    }

    /// Makes one transaction by itself where no other writer is at work, and publishes what it did; none where one is.
    pub(crate) fn try_commit_alone(
        &self,
        signature: &Signature,
        stage: impl FnOnce(&mut dyn Txn) -> Result<bool, StoreError>,
    ) -> Result<Option<bool>, StoreError> {
        let Some(mut txn) = self.store().try_write(self.list_id())? else { return Ok(None) };
        let event = if stage(&mut *txn)? { even_unfinished(txn.commit(signature))? } else { None };
        self.publish(event.as_ref());
        Ok(Some(event.is_some()))
    }

    /// Returns what dead leases hold, where no other process is writing; returns whether anything came back.
    pub(crate) fn try_return_ended_leases(&self) -> Result<bool, StoreError> {
        let mut came_back = false;
        while let Some(mut txn) = self.store().try_write(self.list_id())? {
            let Some(signature) = stage_ended_leases(&mut *txn, self)? else { break };
            self.announce_end(&signature, even_unfinished(txn.commit(&signature))?.as_ref());
            came_back = true;
        }
        Ok(came_back)
    }

    /// Runs one transaction on two lists and publishes what it did, under the terms of [`Yard::transact`].
    pub(crate) fn transact_both<T>(
        &self,
        op: Op,
        from: &ListId,
        into: &ListId,
        mut change: impl FnMut(&mut dyn TxnPair) -> Result<T, Halt>,
    ) -> Result<Outcome<(T, Events)>, Error> {
        let attempt = || {
            self.prepare_to_write(from)?;
            self.prepare_to_write(into)?;
            let mut pair = self.store().write_both(from, into)?;
            let answer = change(&mut *pair)?;
            let committed = pair.commit(&Signature::new(self.actor().clone(), op));
            Ok((answer, committed.inspect_err(|error| self.publish_unfinished(error))?))
        };
        Ok(persist(self.patience(), attempt)?.map(|(answer, events)| {
            events.iter().for_each(|event| self.publish(event.as_ref()));
            (answer, events)
        }))
    }
}

/// Returns a commit whether or not it could be finished: for one that the caller's own change only builds on. What keeps it from being
/// finished keeps the next transaction from beginning, too.
fn even_unfinished(committed: Result<Option<Event>, StoreError>) -> Result<Option<Event>, StoreError> {
    match committed {
        Err(StoreError::Unfinished { commit, cause }) => {
            tracing::warn!(%cause, "a commit is left for the next transaction to finish");
            Ok(commit.map(|commit| *commit))
        }
        committed => committed,
    }
}

/// Makes attempts until one ends otherwise than with a conflict or a lock that is held this moment.
fn persist<T>(patience: Duration, mut attempt: impl FnMut() -> Result<T, Halt>) -> Result<Outcome<T>, Error> {
    let started = Instant::now();
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt() {
            Ok(done) => return Ok(Outcome::Done(done)),
            Err(Halt::Refused(refusal)) => return Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(StoreError::Conflict { task })) if attempts == ATTEMPTS => {
                return Err(Error::TooManyConflicts { task, attempts });
            }
            Err(Halt::Failed(StoreError::Conflict { task })) => {
                tracing::debug!(task = %task, attempts, "changed elsewhere meanwhile, starting over");
            }
            Err(Halt::Failed(StoreError::Busy { by, waited })) if waited.is_zero() => {
                if started.elapsed() > patience {
                    return Err(StoreError::Busy { by, waited: started.elapsed() }.into());
                }
                tracing::debug!(%by, "starting over");
                attempts -= 1;
            }
            Err(Halt::Failed(error)) => return Err(error.into()),
        }
    }
}
