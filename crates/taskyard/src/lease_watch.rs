//! Waits for leases to expire, and releases the tasks of those that have.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::Pid;
use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::rules::leases::liveness::CLOCK_MARGIN;
use taskyard_core::{Holder, Lease, ListId, Moment, ProcessMark, Timestamp, Token};

use crate::liveness::own_mark;
use crate::process::{Waker, end_of};
use crate::store::{Store, StoreError};
use crate::stream::{Cursor, Interest, Stream, cannot_wait};
use crate::{Error, Yard};

/// Leases are checked at least this often: one may have been granted without a change of any task.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How often leases are checked if the system does not report changes.
const UNTOLD: Duration = Duration::from_secs(5);
/// A change is checked again after this: a removed journal can still be read for a moment.
const SETTLED: Duration = Duration::from_millis(500);
/// A lease that has ended but could not be released is checked again after this.
const SOON: Duration = Duration::from_millis(50);

/// Why a waiting thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Woken {
    /// The list changed, or a lease may have expired.
    LookAgain,
    /// The timeout has passed.
    TimedOut,
    /// [`AlarmHandle::stop`] was called.
    Stopped,
}

/// Wakes the thread that waits for an alarm, from another thread.
#[derive(Clone, Debug)]
pub struct AlarmHandle {
    waker: Waker,
    is_asked: Arc<AtomicBool>,
}

impl AlarmHandle {
    /// Makes the waiting thread check again, whether or not anything has happened.
    pub fn look_again(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        self.waker.wake();
    }

    /// Makes the waiting thread stop waiting, permanently.
    pub fn stop(&self) {
        self.waker.stop();
    }
}

/// Wakes a thread when something happens to a list.
#[derive(Debug)]
pub struct Alarm {
    sleeper: Sleeper,
    /// Whether another thread asked for a check.
    is_asked: Arc<AtomicBool>,
    /// The stream of the list's changes, while they are followed.
    stream: Option<Stream>,
    /// The leases of the list at the last check.
    leases: Vec<Token>,
    /// Whether a change was signalled since, so that another check is due.
    has_moved: bool,
}

impl Alarm {
    /// Sets the alarm on a yard's list: everything that happens from now on wakes the thread.
    pub fn set(yard: &Yard) -> Result<Self, Error> {
        Self::for_interest(yard, Interest::in_list(yard.list_id()))
    }

    /// Sets the alarm on an interest: everything it covers that happens from now on wakes the thread.
    pub fn for_interest(yard: &Yard, interest: Interest) -> Result<Self, Error> {
        let mut alarm = Self::by_the_clock()?;
        alarm.follow_what(yard, interest)?;
        Ok(alarm)
    }

    /// Returns an alarm that wakes the thread only by the clock, the end of processes and its handle, whatever happens
    /// to the list.
    pub(crate) fn by_the_clock() -> Result<Self, Error> {
        let sleeper = Sleeper::new().map_err(cannot_wait)?;
        Ok(Self { sleeper, is_asked: Arc::default(), stream: None, leases: Vec::new(), has_moved: false })
    }

    /// Starts waking the thread on changes of a yard's list.
    pub(crate) fn follow(&mut self, yard: &Yard) -> Result<(), Error> {
        if self.stream.is_some() { Ok(()) } else { self.follow_what(yard, Interest::in_list(yard.list_id())) }
    }

    fn follow_what(&mut self, yard: &Yard, interest: Interest) -> Result<(), Error> {
        self.stream = Some(yard.follow_waking(interest, Cursor::now(), self.sleeper.waker().clone())?);
        Ok(())
    }

    /// Stops waking the thread on changes of the list.
    pub(crate) fn follow_no_longer(&mut self) {
        self.stream = None;
    }

    /// Returns a handle that wakes the waiting thread from elsewhere.
    pub fn handle(&self) -> AlarmHandle {
        AlarmHandle { waker: self.sleeper.waker().clone(), is_asked: Arc::clone(&self.is_asked) }
    }

    /// Waits until the list changes, a lease may have expired, or the deadline has passed.
    pub(crate) fn wait(&mut self, yard: &Yard, until: Option<Instant>) -> Result<Woken, Error> {
        self.wait_at_most(yard, until, None)
    }

    /// Waits until the list changes, a lease may have expired, the time to which tasks are deferred comes, or the
    /// deadline has passed.
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
                // A wake-up, or a periodic check without change reports, need not mean that anything happened.
                WokenBy::Waker => {}
                WokenBy::Clock if until.is_some_and(|until| Instant::now() >= until) => return Ok(Woken::TimedOut),
                WokenBy::Clock if [of_stream, of_move].into_iter().flatten().any(|pause| pause < foreseen) => {}
                WokenBy::Process | WokenBy::Clock => return Ok(Woken::LookAgain),
            }
        }
    }

    /// Returns the leases of the list: from memory if the alarm follows the list and the store keeps lists in memory,
    /// since followed lists are kept up to date there.
    fn leases_seen(&self, yard: &Yard) -> Result<Vec<Lease>, Error> {
        let recollected = self.stream.as_ref().and_then(|_| yard.store().recollect(yard.list_id()));
        Ok(recollected.map_or_else(|| yard.store().read(yard.list_id()), Ok)?.leases()?)
    }

    /// Returns whether a lease of the last check is gone. If a list is removed with its journal, no entry reports that.
    fn has_lost_a_lease(&mut self, leases: &[Lease]) -> bool {
        let now: Vec<Token> = leases.iter().map(|lease| lease.token).collect();
        let before = std::mem::replace(&mut self.leases, now);
        before.iter().any(|token| !self.leases.contains(token))
    }

    /// Drains the stream, and returns whether it had anything.
    fn has_happened(&mut self) -> Result<bool, Error> {
        let Some(stream) = &mut self.stream else { return Ok(false) };
        let mut has_happened = false;
        while stream.try_next()?.is_some() {
            has_happened = true;
        }
        Ok(has_happened)
    }
}

/// Returns the processes whose end to wait for, and the time until the first lease expires, at most `longest`.
fn foreseen(yard: &Yard, leases: &[Lease], now: &Moment, longest: Duration) -> (Vec<ProcessMark>, Duration) {
    let (mut running, mut pause) = (Vec::new(), longest);
    for lease in leases {
        let state = yard.world().judge_at(lease, now);
        match (&state, &lease.holder) {
            (LeaseState::Live, Some(holder)) => running.push(holder.process().clone()),
            // The lease's server has ended; it now ends with the client of that server.
            (LeaseState::Lapsing(_), Some(holder)) => running.extend(yard.world().client_of(holder.process())),
            // Waiting for a process that has already ended would wake us at once, again and again. The end of a process
            // that we cannot observe does not wake us.
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

/// Returns the time until the wall clock shows a moment, rounded up so that the thread is woken only once.
fn until_moment(moment: Timestamp, now: &Moment) -> Duration {
    Duration::from_millis(u64::try_from(moment.0.saturating_sub(now.wall.0)).unwrap_or(0).saturating_add(1))
}

/// Returns the time until a moment.
fn left(end: &Moment, now: &Moment) -> Duration {
    let left = match end.boot == now.boot {
        true => end.since_boot - now.since_boot,
        false => end.after(CLOCK_MARGIN).wall.0 - now.wall.0,
    };
    // Slightly late rather than early, to be woken once; and not immediately again for a lease that could not be
    // released.
    if left > 0 { Duration::from_millis(left.unsigned_abs() + 1) } else { SOON }
}

/// What ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    Waker,
    /// The end of a process, or a signal.
    Process,
    /// The timeout.
    Clock,
}

/// Lets a thread sleep until another thread wakes it or a process ends.
#[derive(Debug)]
pub(crate) struct Sleeper {
    waker: Waker,
    /// The processes whose end wakes the thread, each with its pidfd; `None` if the system provides none.
    processes: HashMap<ProcessMark, Option<OwnedFd>>,
}

impl Sleeper {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { waker: Waker::new()?, processes: HashMap::new() })
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Sleeps until the waker is triggered, one of the processes ends, or `longest` has passed.
    pub(crate) fn sleep<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a ProcessMark>,
        longest: Duration,
    ) -> io::Result<WokenBy> {
        let mut watched = HashMap::new();
        for process in processes {
            let known = self.processes.remove(process);
            watched.insert(process.clone(), known.unwrap_or_else(|| open(process)));
        }
        self.processes = watched;
        // A process that cannot be waited for is polled; one that has just ended is noticed at once.
        let cannot_wait = self.processes.values().any(Option::is_none);
        let longest = if cannot_wait { longest.min(Duration::from_secs(1)) } else { longest };
        let mut polled = vec![PollFd::from_borrowed_fd(self.waker.fd(), PollFlags::IN)];
        polled.extend(self.processes.values().flatten().map(|process| PollFd::new(process, PollFlags::IN)));
        let pause = Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut polled, Some(&pause)) {
            Ok(0) => return Ok(WokenBy::Clock),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(WokenBy::Process),
            Err(error) => return Err(error.into()),
        }
        let has_ended = polled[1..].iter().any(|process| !process.revents().is_empty());
        if !polled[0].revents().is_empty() {
            self.waker.reset();
        }
        Ok(if has_ended { WokenBy::Process } else { WokenBy::Waker })
    }
}

/// Returns a descriptor that becomes readable when the process ends.
fn open(process: &ProcessMark) -> Option<OwnedFd> {
    i32::try_from(process.pid).ok().and_then(Pid::from_raw).and_then(end_of)
}

/// The delay before the next attempt after a failure.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Releases tasks whose lease has expired as soon as it has, and reapplies changes that other programs' stale writes
/// overwrote, until it is dropped.
#[derive(Debug)]
pub struct Warden {
    alarm: AlarmHandle,
    thread: Option<JoinHandle<()>>,
}

/// Returns whether the warden guards a lease.
type IsGuarded = Box<dyn Fn(&Lease) -> bool + Send>;

impl Warden {
    /// Starts to watch a yard's list, following every change of it.
    pub fn over(yard: &Yard) -> Result<Self, Error> {
        Ok(Self::with(yard, Alarm::set(yard)?, None))
    }

    /// Starts to watch a yard's list, which is followed only while it has leases for which `is_guarded` returns `true`.
    ///
    /// While it has none, writes of other processes cost nothing: the warden checks leases periodically, and at once
    /// when [`Self::look_again`] is called. A caller that grants a lease that is to be guarded must call it.
    pub fn guarding(yard: &Yard, is_guarded: impl Fn(&Lease) -> bool + Send + 'static) -> Result<Self, Error> {
        Ok(Self::with(yard, Alarm::by_the_clock()?, Some(Box::new(is_guarded))))
    }

    fn with(yard: &Yard, alarm: Alarm, is_guarded: Option<IsGuarded>) -> Self {
        let (handle, yard) = (alarm.handle(), yard.clone());
        let watching = move || watch(&yard, alarm, is_guarded.as_ref());
        let thread = thread::Builder::new().name("taskyard-leases".into()).spawn(watching);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "leases are not watched over")).ok();
        Self { alarm: handle, thread }
    }

    /// Makes the warden check the leases now: some may have been granted or ended.
    pub fn look_again(&self) {
        self.alarm.look_again();
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.alarm.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(yard: &Yard, mut alarm: Alarm, is_guarded: Option<&IsGuarded>) {
    loop {
        // A warden usually is the first to notice a stale write.
        yard.put_back_stale_writes();
        if let Err(error) = yard.return_ended_leases_seen() {
            tracing::warn!(%error, "leases that have ended are not recorded");
            thread::sleep(AFTER_A_FAILURE);
        }
        let followed = is_guarded.map_or(Ok(()), |is_guarded| follow_while_guarding(yard, &mut alarm, is_guarded));
        match followed.and_then(|()| alarm.wait(yard, None)) {
            Ok(Woken::LookAgain | Woken::TimedOut) => {}
            Ok(Woken::Stopped) => return,
            Err(error) => {
                tracing::warn!(%error, "leases are no longer watched over");
                return;
            }
        }
    }
}

fn follow_while_guarding(yard: &Yard, alarm: &mut Alarm, is_guarded: &IsGuarded) -> Result<(), Error> {
    // Following a list that is kept in memory costs nothing, unlike reading the store.
    let is_in_memory = yard.store().recollect(yard.list_id()).is_some();
    if is_in_memory || yard.live_leases()?.iter().any(is_guarded) {
        return alarm.follow(yard);
    }
    alarm.follow_no_longer();
    Ok(())
}

/// The lists on which this process was granted leases. Does not keep the stores open.
static GIVEN: Mutex<Vec<(Weak<dyn Store>, ListId)>> = Mutex::new(Vec::new());

impl Yard {
    /// Records that a lease was granted. If it is bound to this process, the process publishes a heartbeat from now on.
    pub(crate) fn holds_now(&self, holder: &Holder) {
        if *holder.process() == own_mark() {
            let (store, list) = (Arc::downgrade(&self.shared_store()), self.list_id());
            let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
            if !given.iter().any(|(known, on)| known.ptr_eq(&store) && on == list) {
                given.push((store, list.clone()));
            }
        }
        self.world().holds_now(holder);
    }

    /// Ends the heartbeat of this process if it no longer holds a lease, so that no reader waits for it. A process that
    /// still holds one leaves its last heartbeat, from which readers measure until the lease expires.
    pub fn end_signs(&self) {
        // A caller that is granted a lease from here on waits for this lock, and then starts the heartbeat again.
        let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.iter().any(|(store, list)| may_hold(store, list)) {
            self.world().holds_nothing();
        }
    }
}

/// Returns whether this process may hold a lease on a list; `true` if that cannot be determined.
fn may_hold(store: &Weak<dyn Store>, list: &ListId) -> bool {
    let Some(store) = store.upgrade() else { return true };
    let holds = || -> Result<bool, StoreError> {
        let own = own_mark();
        let leases = store.read(list)?.leases()?;
        Ok(leases.iter().any(|lease| lease.holder.as_ref().is_some_and(|holder| *holder.process() == own)))
    };
    holds().unwrap_or(true)
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
        // Twice the number of wake-ups expected on an idle machine.
        let (until, most) = (Instant::now() + SOON * 20, 40);
        let mut woken = 0;
        while woken < most && alarm.wait(&yard, Some(until)).unwrap() == Woken::LookAgain {
            woken += 1;
        }
        assert!(woken < most, "woken {woken} times");
        child.wait().unwrap();
    }
}

#[cfg(test)]
mod sleeper_tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Sleeper, WokenBy};
    use crate::liveness::mark_of;

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn waker_ends_one_sleep() {
        let mut sleeper = Sleeper::new().unwrap();
        sleeper.waker().wake();
        assert_eq!(sleeper.sleep(std::iter::empty(), LONG).unwrap(), WokenBy::Waker);
        assert_eq!(sleeper.sleep(std::iter::empty(), Duration::from_millis(1)).unwrap(), WokenBy::Clock);
    }

    #[test]
    fn the_end_of_a_process_wakes() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        let mut sleeper = Sleeper::new().unwrap();
        child.kill().unwrap();
        assert_eq!(sleeper.sleep(std::iter::once(&mark), LONG).unwrap(), WokenBy::Process);
        child.wait().unwrap();
    }
}
