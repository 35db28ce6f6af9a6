//! What a random sequence of agents, clocks and other programs is made of.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::select;
use taskyard::core::Status;

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
