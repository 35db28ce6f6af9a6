//! Waiting for a list to change or for one of its leases to end, without looking again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use taskyard_core::rules::leases::expiry::CLOCK_MARGIN;
use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::{Lease, Moment, ProcessMark, Timestamp, Token};

use super::sleeper::{Sleeper, WokenBy};
use crate::process::Waker;
use crate::stream::{Cursor, Interest, Stream, cannot_wait};
use crate::{Error, Yard};

/// However quiet it is, leases are looked at this often: one may have been given without a change of any task.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How often we look at leases where the system does not tell of changes.
const UNTOLD: Duration = Duration::from_secs(5);
/// What moved is looked at again after this: a journal that is removed is still read for a moment.
const SETTLED: Duration = Duration::from_millis(500);
/// A lease that has ended and could not be returned is looked at again after this.
const SOON: Duration = Duration::from_millis(50);

/// Why a sleeper was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Woken {
    /// The list changed, or a lease may have ended.
    LookAgain,
    /// The time to wait is over.
    TimedOut,
    /// It was told to stop waiting.
    Stopped,
}

/// Wakes the thread that waits for an alarm, from another one.
#[derive(Clone, Debug)]
pub struct AlarmHandle {
    waker: Waker,
    is_asked: Arc<AtomicBool>,
}

impl AlarmHandle {
    /// Has the waiting thread look again, whatever has happened.
    pub fn look_again(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        self.waker.wake();
    }

    /// Has the waiting thread stop waiting, for good.
    pub fn stop(&self) {
        self.waker.stop();
    }
}

/// Wakes a thread that waits for something to happen to a list.
#[derive(Debug)]
pub struct Alarm {
    sleeper: Sleeper,
    /// Whether another thread wants the sleeper to look again, whatever has happened.
    is_asked: Arc<AtomicBool>,
    /// What tells of changes of the list, while that is wanted.
    stream: Option<Stream>,
    /// The leases of the list at the last look.
    leases: Vec<Token>,
    /// Whether something moved since, and has to be looked at once more.
    has_moved: bool,
}

impl Alarm {
    /// Sets the alarm on a yard's list: what happens from now on wakes the sleeper.
    pub fn set(yard: &Yard) -> Result<Self, Error> {
        Self::for_interest(yard, Interest::in_list(yard.list_id()))
    }

    /// Sets the alarm on what the sleeper wants to know of: what happens from now on wakes the sleeper.
    pub fn for_interest(yard: &Yard, interest: Interest) -> Result<Self, Error> {
        let mut alarm = Self::by_the_clock()?;
        alarm.follow_what(yard, interest)?;
        Ok(alarm)
    }

    /// Returns an alarm that only the clock, the end of processes and its handle wake the sleeper by, whatever happens to the list.
    pub(super) fn by_the_clock() -> Result<Self, Error> {
        let sleeper = Sleeper::new().map_err(cannot_wait)?;
        Ok(Self { sleeper, is_asked: Arc::default(), stream: None, leases: Vec::new(), has_moved: false })
    }

    /// Has changes of a yard's list wake the sleeper from now on.
    pub(super) fn follow(&mut self, yard: &Yard) -> Result<(), Error> {
        if self.stream.is_some() { Ok(()) } else { self.follow_what(yard, Interest::in_list(yard.list_id())) }
    }

    fn follow_what(&mut self, yard: &Yard, interest: Interest) -> Result<(), Error> {
        self.stream = Some(yard.follow_waking(interest, Cursor::now(), self.sleeper.waker().clone())?);
        Ok(())
    }

    /// Lets the sleeper sleep through changes of the list.
    pub(super) fn follow_no_longer(&mut self) {
        self.stream = None;
    }

    /// Returns what wakes the sleeper from elsewhere.
    pub fn handle(&self) -> AlarmHandle {
        AlarmHandle { waker: self.sleeper.waker().clone(), is_asked: Arc::clone(&self.is_asked) }
    }

    /// Sleeps until the list changes, a lease may have ended, or the time is over.
    pub(crate) fn wait(&mut self, yard: &Yard, until: Option<Instant>) -> Result<Woken, Error> {
        self.wait_at_most(yard, until, None)
    }

    /// Sleeps until the list changes, a lease may have ended, the moment comes to which tasks are deferred, or the time is over.
    pub fn wait_at_most(
        &mut self,
        yard: &Yard,
        until: Option<Instant>,
        deferred_to: Option<Timestamp>,
    ) -> Result<Woken, Error> {
        loop {
            let has_happened = self.has_happened()?;
            if self.sleeper.waker().is_stopped() {
                return Ok(Woken::Stopped);
            }
            if self.is_asked.swap(false, Ordering::SeqCst) || has_happened {
                self.has_moved = true;
                return Ok(Woken::LookAgain);
            }
            let leases = self.leases_seen(yard)?;
            if self.has_lost_a_lease(&leases) {
                return Ok(Woken::LookAgain);
            }
            let now = yard.now()?;
            let longest = if self.stream.is_some() { LONGEST_SLEEP } else { UNTOLD };
            let (running, of_leases) = foreseen(yard, &leases, &now, longest);
            let foreseen = deferred_to.map_or(of_leases, |moment| of_leases.min(until_moment(moment, &now)));
            let left = |until: Option<Instant>| until.map(|until| until.saturating_duration_since(Instant::now()));
            let of_stream = left(self.stream.as_ref().and_then(Stream::due));
            let of_move = std::mem::take(&mut self.has_moved).then_some(SETTLED);
            let pause = [of_stream, of_move, left(until)].into_iter().flatten().fold(foreseen, Duration::min);
            let woken_by = self.sleeper.sleep(running.iter(), pause).map_err(cannot_wait)?;
            self.has_moved = woken_by == WokenBy::Waker;
            match woken_by {
                // What moved, or is looked at now and then because the system does not tell of it, may be nothing that happened.
                WokenBy::Waker => {}
                WokenBy::Clock if until.is_some_and(|until| Instant::now() >= until) => return Ok(Woken::TimedOut),
                WokenBy::Clock if [of_stream, of_move].into_iter().flatten().any(|pause| pause < foreseen) => {}
                WokenBy::Process | WokenBy::Clock => return Ok(Woken::LookAgain),
            }
        }
    }

    /// Returns the leases of the list. What the alarm follows is kept up to date in memory, if the store keeps lists there.
    fn leases_seen(&self, yard: &Yard) -> Result<Vec<Lease>, Error> {
        let recollected = self.stream.as_ref().and_then(|_| yard.store().recollect(yard.list_id()));
        Ok(recollected.map_or_else(|| yard.store().read(yard.list_id()), Ok)?.leases()?)
    }

    /// Tells whether a lease is gone that was there at the last look: who removes a list with its journal leaves no entry that tells of it.
    fn has_lost_a_lease(&mut self, leases: &[Lease]) -> bool {
        let now: Vec<Token> = leases.iter().map(|lease| lease.token).collect();
        let before = std::mem::replace(&mut self.leases, now);
        before.iter().any(|token| !self.leases.contains(token))
    }

    /// Takes in what has happened, and tells whether anything has.
    fn has_happened(&mut self) -> Result<bool, Error> {
        let Some(stream) = &mut self.stream else { return Ok(false) };
        let mut has_happened = false;
        while stream.try_next()?.is_some() {
            has_happened = true;
        }
        Ok(has_happened)
    }
}

/// Returns the processes whose end is worth waiting for, and how long until the first lease ends, at most so long.
fn foreseen(yard: &Yard, leases: &[Lease], now: &Moment, longest: Duration) -> (Vec<ProcessMark>, Duration) {
    let (mut running, mut pause) = (Vec::new(), longest);
    for lease in leases {
        let state = yard.world().judge_at(lease, now);
        match (&state, &lease.holder) {
            (LeaseState::Live, Some(holder)) => running.push(holder.process().clone()),
            // It ends with the client of the server that has ended.
            (LeaseState::Lapsing(_), Some(holder)) => running.extend(yard.world().client_of(holder.process())),
            // The end of a process that has ended would wake us at once, again and again; and the end of one that cannot be seen does not
            // wake us.
            (LeaseState::Live | LeaseState::Lapsing(_) | LeaseState::Unseen(_), _) => {}
            (LeaseState::TimeIsOver | LeaseState::ProcessEnded | LeaseState::Silent, _) => pause = pause.min(SOON),
        }
        pause = [&lease.ends, &state.ends().cloned()]
            .into_iter()
            .flatten()
            .fold(pause, |pause, end| pause.min(left(end, now)));
    }
    (running, pause)
}

/// Returns how long it is until people's clocks show a moment, a little more rather than less, so that a sleeper is woken once.
fn until_moment(moment: Timestamp, now: &Moment) -> Duration {
    Duration::from_millis(u64::try_from(moment.0.saturating_sub(now.wall.0)).unwrap_or(0).saturating_add(1))
}

/// Returns how long it is until a moment.
fn left(end: &Moment, now: &Moment) -> Duration {
    let left = match end.boot == now.boot {
        true => end.since_boot - now.since_boot,
        false => end.after(CLOCK_MARGIN).wall.0 - now.wall.0,
    };
    // A little late rather than a little early, to be woken once; and not at once again for one that could not be returned.
    if left > 0 { Duration::from_millis(left.unsigned_abs() + 1) } else { SOON }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::time::Instant;

    use taskyard_core::rules::leases::liveness::Liveness;
    use taskyard_core::{AgentName, Holder, ListId, Rules, TaskId};

    use super::{Alarm, SOON, Woken};
    use crate::Yard;
    use crate::liveness::{liveness_of, mark_of};
    use crate::operations::{Claim, NewTask};
    use crate::store::MemoryStore;

    #[test]
    fn a_process_whose_lease_is_not_returned_does_not_keep_us_awake() {
        let store = Arc::new(MemoryStore::new(Rules::Strict));
        let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
        yard.create(NewTask { subject: "one".into(), ..NewTask::default() }).unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        let holder = Some(Holder::Process(mark.clone()));
        yard.claim(&TaskId::number(1), &Claim { holder, ..Claim::default() }).unwrap();
        child.kill().unwrap();
        while liveness_of(&mark) == Liveness::Alive {
            std::thread::yield_now();
        }
        let mut alarm = Alarm::set(&yard).unwrap();
        assert_eq!(alarm.wait(&yard, None).unwrap(), Woken::LookAgain);
        // Twice as often as a machine with nothing else to do wakes us.
        let (until, most) = (Instant::now() + SOON * 20, 40);
        let mut woken = 0;
        while woken < most && alarm.wait(&yard, Some(until)).unwrap() == Woken::LookAgain {
            woken += 1;
        }
        assert!(woken < most, "woken {woken} times");
        child.wait().unwrap();
    }
}
