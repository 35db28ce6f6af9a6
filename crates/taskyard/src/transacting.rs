//! Runs the transactions of operations, with retries.

use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AttemptId, Event, ListId, Op, Revision};

use crate::operations::{Halt, show_life, stage_ended_leases};
use crate::store::{HistoryQuery, Signature, StoreError, Txn, TxnPair};
use crate::yard::{DEFAULT_PATIENCE, Expectation};
use crate::{Error, Outcome, Yard};

/// How often a change is retried if other programs keep changing what it read.
const ATTEMPTS: u32 = 16;
/// The delay before a store is asked about a commit whose reply was lost. It grows with each retry.
const BREATH: Duration = Duration::from_millis(50);

/// The commits of a transaction on two lists.
type Events = [Option<Event>; 2];

impl Yard {
    /// Logs a commit, and records the list that was written to.
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

    /// Checks the yard's precondition in the transaction.
    fn judge_expectation(&self, txn: &dyn Txn) -> Result<(), Halt> {
        let Some(Expectation { task, is_met }) = self.expectation() else { return Ok(()) };
        match txn.find(task)?.task() {
            Some(current) if !is_met(&current) => {
                Err(Refusal::NotAsExpected { task: task.clone(), current: Box::new(current) }.into())
            }
            _ => Ok(()),
        }
    }

    /// Runs one transaction on the list and publishes its commit.
    ///
    /// The closure stages changes and returns a value, or halts; then everything it staged is dropped. It may run
    /// several times, so it must not have side effects. It may add to the signature of the commit.
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
                // The refusal may be due to another program's stale write.
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
            self.stage_followers(&mut *txn, op)?;
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

    /// Publishes a commit that exists but could not be finished; the caller gets the error.
    fn publish_unfinished(&self, error: &StoreError) {
        if let StoreError::Unfinished { commit, .. } = error {
            self.publish(commit.as_deref());
        }
    }

    /// Returns the commit of an attempt whose reply was lost; `None` if it did not happen. Fails with the commit's
    /// error if the store remains unavailable or cannot tell.
    fn commit_of(&self, attempt: AttemptId, since: Revision, lost: StoreError) -> Result<Option<Event>, StoreError> {
        for breath in 1..=ATTEMPTS {
            tracing::warn!(error = %lost, "the answer to a commit was lost");
            thread::sleep(BREATH * breath);
            // While we hold the write lock, earlier attempts have ended, so the history is conclusive.
            let asked = self.store().write(self.list_id()).and_then(|_turn| {
                let query = HistoryQuery { attempt: Some(attempt), since, ..HistoryQuery::default() };
                self.store().history(self.list_id(), &query)
            });
            match asked {
                Ok(entries) => {
                    let event = |revision| Event { list: self.list_id().clone(), revision, entries: entries.clone() };
                    return Ok(entries.first().map(|first| event(first.revision)));
                }
                // A database that went back in time reports it again on the next request.
                Err(StoreError::Unavailable { .. } | StoreError::Conflict { .. }) => {}
                // If the store cannot tell, the commit may nevertheless have happened.
                Err(_) => break,
            }
        }
        Err(lost)
    }

    /// Reads the list while no other process writes to it, and changes nothing.
    pub(crate) fn look_in_turn<T>(
        &self,
        mut look: impl FnMut(&dyn Txn) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 1..ATTEMPTS {
            match self.store().write(self.list_id()) {
                // The store was replaced; read its current state.
                Err(StoreError::Conflict { .. }) => {}
                opened => return look(&*opened?),
            }
        }
        look(&*self.store().write(self.list_id())?)
    }

    /// Opens a transaction in which every lease is valid: the tasks of expired leases have been released before.
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

    /// Notifies listeners and the remaining team members that leases of an agent have ended and its tasks were
    /// released. Only the process that recorded this does so, so that they are notified once; it no longer holds a
    /// lock.
    fn announce_end(&self, signature: &Signature, event: Option<&Event>) {
        self.publish(event);
        let is_told_later = self.departing() == Some(&signature.actor);
        if let (Some(notice), Some(_), false) = (&signature.remark.notice, event, is_told_later) {
            self.tell_remaining(&signature.actor, notice, None);
        }
    }

    /// Runs a separate transaction, retrying after conflicts, and publishes its commit.
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

    /// Runs a separate transaction if no other process is writing, and publishes its commit; `None` if one is.
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

    /// Releases the tasks of expired leases if no other process is writing; returns whether any were released.
    pub(crate) fn try_return_ended_leases(&self) -> Result<bool, StoreError> {
        let mut came_back = false;
        while let Some(mut txn) = self.store().try_write(self.list_id())? {
            let Some(signature) = stage_ended_leases(&mut *txn, self)? else { break };
            self.announce_end(&signature, even_unfinished(txn.commit(&signature))?.as_ref());
            came_back = true;
        }
        Ok(came_back)
    }

    /// Runs one transaction on two lists and publishes its commits. The terms are those of [`Yard::transact`].
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

/// Returns a commit even if it could not be finished, for commits that the caller's own change only builds on. Whatever
/// prevents it from being finished will also fail the next transaction.
fn even_unfinished(committed: Result<Option<Event>, StoreError>) -> Result<Option<Event>, StoreError> {
    match committed {
        Err(StoreError::Unfinished { commit, cause }) => {
            tracing::warn!(%cause, "a commit is left for the next transaction to finish");
            Ok(commit.map(|commit| *commit))
        }
        committed => committed,
    }
}

/// Retries until an attempt ends other than with a conflict or a busy lock.
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
