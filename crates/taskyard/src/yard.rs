//! The thing every operation is called on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::{AgentName, Event, ListId, Op, Rules};

use crate::Error;
use crate::events::EventBus;
use crate::store::{Listener, Signature, Store, StoreError, Subscription, Txn};

/// How long the lock of a task that a living process holds is waited for.
const PATIENCE: Duration = Duration::from_secs(12);
/// How often a change is tried again when other programs keep changing what it read.
const ATTEMPTS: u32 = 16;

/// A store, one of its lists, the rules in force, who acts, and who listens.
#[derive(Clone, Debug)]
pub struct Yard {
    store: Arc<dyn Store>,
    list: ListId,
    rules: Rules,
    actor: AgentName,
    events: EventBus,
}

impl Yard {
    /// Returns a yard over one list of a store, in strict rules.
    pub fn new(store: Arc<dyn Store>, list: ListId, actor: AgentName) -> Self {
        Self { store, list, rules: Rules::Strict, actor, events: EventBus::default() }
    }

    /// Puts other rules in force. They must be the ones the store was opened with.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns the same yard over another list.
    #[must_use]
    pub fn on(&self, list: ListId) -> Self {
        Self { list, ..self.clone() }
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the list every operation works on.
    pub fn list_id(&self) -> &ListId {
        &self.list
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns who acts.
    pub fn actor(&self) -> &AgentName {
        &self.actor
    }

    /// Tells a listener of every commit made through this yard, once, after it happened.
    pub fn subscribe(&self, listener: Listener) -> Subscription {
        self.events.subscribe(listener)
    }

    /// Returns the signature of a change by the acting agent.
    pub(crate) fn signature(&self, op: Op) -> Signature {
        Signature::new(self.actor.clone(), op)
    }

    /// Tells the listeners of a commit.
    pub(crate) fn publish(&self, event: Option<&Event>) {
        if let Some(event) = event {
            self.events.publish(event);
        }
    }

    /// Runs one transaction on the list and publishes what it did.
    ///
    /// The closure may run several times, so it has no side effects. It stages changes and returns its answer; to refuse, it
    /// returns without having staged anything.
    pub(crate) fn transact<T>(
        &self,
        signature: &Signature,
        mut change: impl FnMut(&mut dyn Txn) -> Result<T, StoreError>,
    ) -> Result<(T, Option<Event>), Error> {
        let started = Instant::now();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut txn = self.store.write(&self.list)?;
            let answer = change(&mut *txn)?;
            match txn.commit(signature) {
                Ok(event) => {
                    self.publish(event.as_ref());
                    return Ok((answer, event));
                }
                Err(StoreError::Conflict { task }) if attempts == ATTEMPTS => {
                    return Err(Error::TooManyConflicts { task, attempts });
                }
                Err(StoreError::Conflict { task }) => {
                    tracing::debug!(task = %task, attempts, "changed elsewhere meanwhile, starting over");
                }
                Err(StoreError::Busy { path, age }) if started.elapsed() > PATIENCE => {
                    return Err(StoreError::Locked { path, age, waited: started.elapsed() }.into());
                }
                Err(StoreError::Busy { path, .. }) => {
                    tracing::debug!(lock = %path.display(), "held by another process, starting over");
                    attempts -= 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
