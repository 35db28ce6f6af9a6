//! What an agent that takes, renews and gives back leases knows.

use crate::properties::lease_steps::LeaseStep;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use taskyard::Yard;
use taskyard::core::rules::leases::leasing::{LeaseState, holds};
use taskyard::core::{AgentName, Entry, Lease, ListId, Moment, Revision, Task, TaskId, Token};

use super::invariants::Replay;
use super::lease_steps::Life;
use crate::{Opened, TurnedWorld};

/// How long leases live by time.
pub(super) const TTL: Duration = Duration::from_millis(160_000);

/// Writes a task as another program does, past the operations.
pub type Outside = Box<dyn Fn(&ListId, &Task)>;

/// An agent that plays, and everything that was given so far.
pub(super) struct LeasePlayer {
    pub(super) yard: Yard,
    pub(super) world: Arc<TurnedWorld>,
    pub(super) outside: Outside,
    /// Every lease that was ever given, by token.
    pub(super) given: BTreeMap<Token, Given>,
    pub(super) processes: Vec<taskyard::core::ProcessMark>,
    pub(super) created: u64,
    /// The entry that made each task's owner its owner.
    pub(super) reasons: HashMap<TaskId, Option<Entry>>,
    pub(super) told: Revision,
    pub(super) replay: Replay,
    pub(super) _opened: Opened,
}

/// What there is to know before a step.
pub(super) struct Before {
    pub(super) leases: Vec<(Lease, LeaseState)>,
    pub(super) tasks: HashMap<TaskId, Task>,
    pub(super) revision: Revision,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// A process of ours had a transaction, so dead leases have ended.
    Written,
    /// None had, or it was refused.
    NotWritten,
}

impl Before {
    /// Returns the lease on a task that counts.
    pub(super) fn counting(&self, task: &TaskId) -> Option<&Lease> {
        self.leases
            .iter()
            .find(|(lease, state)| {
                lease.task == *task && state.is_alive() && self.tasks.get(task).is_some_and(|task| holds(lease, task))
            })
            .map(|(lease, _)| lease)
    }
}

/// Who plays. The last two are one agent under two names.
pub(super) const AGENTS: [&str; 4] = ["ana", "cyd", "ben", "ben@team"];

/// A lease that was given, and what is known of it without asking the store.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) task: TaskId,
    pub(super) agent: AgentName,
    /// Another program has written to the task since.
    pub(super) is_changed_outside: bool,
    pub(super) life: Life,
    /// How long it lives by time, where it does.
    pub(super) ttl: Duration,
    /// When its agent last did something that was acknowledged, and when it last tried anything.
    pub(super) acted: Moment,
    pub(super) tried: Moment,
}

impl Given {
    /// Takes in that a lease whose connection is gone lives by time from now on, for as long as the agent that asked said.
    pub(super) fn goes_on_as(&mut self, lease: &Lease, ttl: Duration) {
        if matches!(self.life, Life::Connection) && lease.holder.is_none() {
            (self.life, self.ttl) = (Life::Time, ttl);
        }
    }

    /// Panics where a lease is dead that should live, or the other way round.
    pub(super) fn lives_as_it_should(&self, lease: &Lease, state: &LeaseState, now: &Moment, step: &LeaseStep) {
        // Only the clock of one run of one machine measures how long it was.
        let ends = lease.ends.as_ref().unwrap_or(now);
        if [&self.acted, &self.tried, ends].iter().any(|moment| moment.boot != now.boot) {
            return;
        }
        let ttl = i64::try_from(self.ttl.as_millis()).unwrap();
        let (silent, idle) = (now.since_boot - self.tried.since_boot, now.since_boot - self.acted.since_boot);
        if matches!(self.life, Life::Time | Life::TimeAndProcess) {
            assert!(silent < ttl || !state.is_alive(), "{lease:?} outlives its time after {step:?}");
        }
        if matches!(self.life, Life::Time) {
            // A sign of life that gains less than a sixteenth is not written down. Where there is a process, only that one gives any.
            assert!(idle >= ttl * 15 / 16 || *state != LeaseState::TimeIsOver, "{lease:?} is dead after {step:?}");
        } else if matches!(self.life, Life::Process) {
            assert_ne!(*state, LeaseState::TimeIsOver, "{lease:?} has no time to be over after {step:?}");
        }
    }
}
