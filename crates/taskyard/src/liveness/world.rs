//! Which processes run.

use std::fmt::Debug;
use std::path::Path;

use taskyard_core::rules::leases::leasing::{LeaseState, judge_lease};
use taskyard_core::rules::leases::liveness::{Liveness, ProcessSeen};
use taskyard_core::{Holder, Lease, Moment, ProcessMark};

use super::process_table::{liveness_of, own_mark};
use super::signs::{Signs, longest_silence};
use crate::clock;

/// Where those live who hold leases. Tests bring one whose processes they start and end themselves.
pub trait World: Debug + Send + Sync {
    /// Returns what is known of a process.
    fn see(&self, process: &ProcessMark) -> ProcessSeen;

    /// Takes note that something was given to a holder. Where that is this process, it leaves signs of life from now on.
    fn holds_now(&self, holder: &Holder);

    /// Takes note that a holder took a seat in a team. Where that is this process, it leaves signs of life until its end: other members know
    /// by them whether it lives.
    fn sits_now(&self, holder: &Holder) {
        self.holds_now(holder);
    }

    /// Takes note that this process holds no lease any more, and is about to end.
    fn holds_nothing(&self) {}

    /// Returns the client that a process serves; `None` if it serves none, or that is not known.
    fn client_of(&self, _process: &ProcessMark) -> Option<ProcessMark> {
        None
    }

    /// Returns the moment it is by the clock that signs of life are compared with.
    fn now(&self) -> Moment {
        clock::moment()
    }

    /// Judges a lease at a moment of its store's clock. A server that has ended may be started again by its client, as long as that lives.
    fn judge_at(&self, lease: &Lease, now: &Moment) -> LeaseState {
        let state = judge_lease(lease, now, |process| self.see(process));
        let client = match (&state, &lease.holder) {
            (LeaseState::Lapsing(_), Some(holder)) => self.client_of(holder.process()),
            _ => None,
        };
        match client.map(|client| self.see(&client).liveness) {
            Some(Liveness::Dead) => LeaseState::ProcessEnded,
            Some(Liveness::Alive | Liveness::Unknown) | None => state,
        }
    }

    /// Tells whether something lives with a client: with its process, or with a server of that client.
    fn lives_with(&self, holder: &Holder, client: &ProcessMark) -> bool {
        holder.process() == client || self.client_of(holder.process()).as_ref() == Some(client)
    }
}

/// The machine we run on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThisMachine {
    signs: Option<Signs>,
}

impl ThisMachine {
    /// Returns the machine we run on, with the signs of life in a data directory. Without one, processes that cannot be seen live by
    /// the time of what they hold.
    pub(crate) fn with_signs_in(data: &Path) -> Self {
        Self { signs: Some(Signs::in_data(data)) }
    }
}

impl World for ThisMachine {
    fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let unsigned = || {
            let (liveness, longest_silence) = (liveness_of(process), longest_silence());
            ProcessSeen { liveness, last_sign: None, longest_silence, must_show_life: false }
        };
        self.signs.as_ref().map_or_else(unsigned, |signs| signs.see(process))
    }

    fn holds_now(&self, holder: &Holder) {
        if let Some(signs) = self.signs.as_ref().filter(|_| *holder.process() == own_mark()) {
            signs.leave_from_now_on();
        }
    }

    fn sits_now(&self, holder: &Holder) {
        if let Some(signs) = self.signs.as_ref().filter(|_| *holder.process() == own_mark()) {
            signs.leave_to_the_last();
        }
    }

    fn client_of(&self, process: &ProcessMark) -> Option<ProcessMark> {
        self.signs.as_ref()?.client_of(process)
    }

    fn holds_nothing(&self) {
        self.signs.iter().for_each(Signs::end);
    }
}
