//! What must be said of a lease that lives with a process, worked out from what is truly so in the world.

use std::time::Duration;

use taskyard::core::rules::leases::expiry::CLOCK_MARGIN;
use taskyard::core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState};
use taskyard::core::rules::leases::liveness::LONGEST_SILENCE;
use taskyard::core::{Holder, Lease};

use super::lease_steps::LeaseStep;
use crate::TurnedWorld;

/// What the judge can know of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Runs,
    HasEnded,
    Nothing,
}

/// Panics where the judge says of a lease what it cannot know, or takes it from a process that lives.
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
