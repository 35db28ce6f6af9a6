//! The steps of a random sequence about leases, and what each agent must be told.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::select;
use taskyard::Yard;
use taskyard::core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState, holds};
use taskyard::core::rules::leases::liveness::{CLOCK_MARGIN, LONGEST_SILENCE};
use taskyard::core::{AgentName, Entry, Holder, Lease, ListId, Moment, Revision, Status, Task, TaskId, Token};

use crate::properties::playing::Replay;
use crate::{Opened, TurnedWorld};

/// One thing that happens. Tasks, agents, tokens, processes and revisions are named by a number that is taken modulo how many
/// there are.
#[derive(Clone, Debug)]
pub(super) enum LeaseStep {
    Create {
        waits_for: Option<u8>,
    },
    Claim {
        task: u8,
        agent: u8,
        life: Life,
        reserve: bool,
        only_when_idle: bool,
    },
    ClaimNext {
        agent: u8,
        life: Life,
    },
    Renew {
        token: u8,
        agent: u8,
    },
    Release {
        task: u8,
        agent: u8,
        proof: Option<u8>,
    },
    Done {
        task: u8,
        agent: u8,
        proof: Option<u8>,
    },
    Delete {
        task: u8,
        agent: u8,
    },
    Reopen {
        task: u8,
        agent: u8,
    },
    Undo {
        revision: u8,
        agent: u8,
        force: bool,
    },
    Depart {
        agent: u8,
    },
    Look {
        agent: u8,
    },
    /// Another program changes who has a task, and how far it is.
    Outside {
        task: u8,
        owner: Option<u8>,
        status: Status,
    },
    /// Time passes, in sixteenths of a lease.
    Pass {
        sixteenths: u8,
    },
    SetWallClock {
        hours: i8,
    },
    EndProcess {
        process: u8,
    },
    Restart {
        sixteenths: u8,
    },
    /// The agent that acts and judges stands in another container, or on another machine.
    Stand {
        place: u8,
    },
    /// The process table is hidden from it, or shown.
    Hide {
        is_hidden: bool,
    },
    LeaveSigns,
}

/// What a lease is to live with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Life {
    Time,
    Process,
    TimeAndProcess,
    Connection,
}

/// Makes sequences, claims and the passing of time being the most frequent.
pub(super) fn lease_sequences() -> impl Strategy<Value = Vec<LeaseStep>> {
    vec(step(), 1..60)
}

fn step() -> impl Strategy<Value = LeaseStep> {
    let status = prop_oneof![Just(Status::Pending), Just(Status::InProgress), Just(Status::Completed)];
    let life = || {
        select([Life::Time, Life::Time, Life::Time, Life::Process, Life::TimeAndProcess, Life::Connection].as_slice())
    };
    let pick = any::<u8>;
    prop_oneof![
        3 => any::<Option<u8>>().prop_map(|waits_for| LeaseStep::Create { waits_for }),
        12 => (pick(), pick(), life(), any::<bool>(), any::<bool>()).prop_map(
            |(task, agent, life, reserve, only_when_idle)| LeaseStep::Claim { task, agent, life, reserve, only_when_idle }
        ),
        8 => (pick(), life()).prop_map(|(agent, life)| LeaseStep::ClaimNext { agent, life }),
        6 => (pick(), pick()).prop_map(|(token, agent)| LeaseStep::Renew { token, agent }),
        4 => (pick(), pick(), any::<Option<u8>>())
            .prop_map(|(task, agent, proof)| LeaseStep::Release { task, agent, proof }),
        6 => (pick(), pick(), any::<Option<u8>>())
            .prop_map(|(task, agent, proof)| LeaseStep::Done { task, agent, proof }),
        2 => (pick(), pick()).prop_map(|(task, agent)| LeaseStep::Delete { task, agent }),
        2 => (pick(), pick()).prop_map(|(task, agent)| LeaseStep::Reopen { task, agent }),
        5 => (pick(), pick(), any::<bool>())
            .prop_map(|(revision, agent, force)| LeaseStep::Undo { revision, agent, force }),
        2 => pick().prop_map(|agent| LeaseStep::Depart { agent }),
        4 => pick().prop_map(|agent| LeaseStep::Look { agent }),
        4 => (pick(), any::<Option<u8>>(), status)
            .prop_map(|(task, owner, status)| LeaseStep::Outside { task, owner, status }),
        10 => (0_u8..20).prop_map(|sixteenths| LeaseStep::Pass { sixteenths }),
        2 => (-30_i8..30).prop_map(|hours| LeaseStep::SetWallClock { hours }),
        3 => pick().prop_map(|process| LeaseStep::EndProcess { process }),
        1 => (0_u8..40).prop_map(|sixteenths| LeaseStep::Restart { sixteenths }),
        5 => (0_u8..4).prop_map(|place| LeaseStep::Stand { place }),
        1 => any::<bool>().prop_map(|is_hidden| LeaseStep::Hide { is_hidden }),
        4 => Just(LeaseStep::LeaveSigns),
    ]
}

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

    /// Panics if a lease is dead that should be live, or the reverse.
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

/// What the judge can know of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Runs,
    HasEnded,
    Nothing,
}

/// Panics if the judge claims to know what it cannot, or takes a lease from a live process.
pub(super) fn stands_as_it_should(lease: &Lease, state: &LeaseState, world: &TurnedWorld, step: &LeaseStep) {
    let Some(holder) = lease.holder.as_ref().filter(|_| *state != LeaseState::TimeIsOver) else { return };
    let process = holder.process();
    let ((here, is_hidden), runs) = (world.standpoint(), world.is_running(process));
    let known = match process.machine == here.machine {
        true if process.boot != here.boot => Known::HasEnded,
        true if process.pid_space == here.pid_space && !is_hidden && runs => Known::Runs,
        true if process.pid_space == here.pid_space && !is_hidden => Known::HasEnded,
        _ => Known::Nothing,
    };
    let grace = match holder {
        Holder::Connection { grace, .. } => Some(*grace),
        Holder::Process(_) => None,
    };
    let told = format!("{lease:?} is {state:?} to {here:?}, which knows {known:?}, after {step:?}");
    match known {
        Known::Runs => assert_eq!(*state, LeaseState::Live, "{told}"),
        Known::HasEnded => {
            assert!(matches!(state, LeaseState::Lapsing(_) | LeaseState::ProcessEnded), "{told}");
            let lives = grace.map_or(Some(false), |grace| is_within(lease, world, grace, grace));
            assert!(lives.is_none_or(|lives| lives == state.is_alive()), "{told}");
        }
        Known::Nothing => {
            assert!(matches!(state, LeaseState::Unseen(_) | LeaseState::Silent), "{told}");
            let without_signs = if lease.ttl.is_some() { Duration::MAX } else { DEFAULT_LEASE };
            let lives = is_within(lease, world, grace.unwrap_or(LONGEST_SILENCE), without_signs);
            assert!(lives.is_none_or(|lives| lives == state.is_alive()), "{told}");
        }
    }
}

/// Tells whether no more time has passed than that since the last sign of life, or since the lease was given where there is none; none
/// where it cannot be told: the clocks do not agree, and the difference lies within the margin, or one was set.
fn is_within(lease: &Lease, world: &TurnedWorld, signed: Duration, unsigned: Duration) -> Option<bool> {
    let process = lease.holder.as_ref()?.process();
    let Some(sign) = world.last_sign(process) else {
        if unsigned == Duration::MAX {
            return Some(true);
        }
        let since_taken = world.now().wall.0 - lease.taken.0;
        let end = i64::try_from((unsigned + CLOCK_MARGIN).as_millis()).unwrap();
        return Some(since_taken < end);
    };
    let (silent, was_set) = world.since(&sign);
    if sign.left.boot == world.now().boot {
        return Some(silent < signed);
    }
    if was_set {
        return None;
    }
    Some(silent < signed + CLOCK_MARGIN)
}
