//! A world whose clocks, machines and processes a test moves by hand.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use taskyard::core::rules::leases::liveness::{LONGEST_SILENCE, ProcessSeen, Sight, Standpoint, judge_process};
use taskyard::core::{Holder, Moment, ProcessMark, Timestamp};
use taskyard::liveness::World;
use taskyard::store::StoreClock;

/// How many machines there are.
const MACHINES: usize = 2;

/// Two machines with two containers each, with clocks that tests advance and processes that tests end. The judge of
/// leases runs in one of the containers, and can be moved to another.
#[derive(Debug)]
pub struct TurnedWorld(Mutex<Inner>);

/// A sign of life: when it was left by the clocks there, and when it truly was.
#[derive(Clone, Debug)]
pub struct SignLeft {
    /// When it was left, by the clocks of the machine it was left on.
    pub left: Moment,
    /// How much time had passed then since the world began.
    pub elapsed: Duration,
    /// How often the wall clock had been set before.
    pub settings: u32,
}

#[derive(Debug)]
struct Inner {
    wall: i64,
    elapsed: Duration,
    settings: u32,
    machines: [Machine; MACHINES],
    /// The machine and the container of the judge.
    stands: (usize, usize),
    is_hidden: bool,
    running: HashSet<ProcessMark>,
    signs: HashMap<ProcessMark, SignLeft>,
}

#[derive(Debug)]
struct Machine {
    since_boot: i64,
    boots: u32,
    processes: [u32; 2],
}

impl Default for TurnedWorld {
    fn default() -> Self {
        let machine = |since_boot| Machine { since_boot, boots: 1, processes: [0; 2] };
        Self(Mutex::new(Inner {
            wall: 1_800_000_000_000,
            elapsed: Duration::ZERO,
            settings: 0,
            machines: [machine(1_000_000), machine(7_000_000)],
            stands: (0, 0),
            is_hidden: false,
            running: HashSet::new(),
            signs: HashMap::new(),
        }))
    }
}

impl TurnedWorld {
    /// Returns the current moment on the judge's machine.
    pub fn now(&self) -> Moment {
        let inner = self.inner();
        let boot = inner.standpoint().boot;
        Moment { wall: Timestamp(inner.wall), boot, since_boot: inner.machines[inner.stands.0].since_boot }
    }

    /// Returns the clock of this world, for a store.
    pub fn clock(self: &Arc<Self>) -> StoreClock {
        let world = Arc::clone(self);
        StoreClock::new(move || world.now())
    }

    /// Lets time pass, by all clocks.
    pub fn pass(&self, time: Duration) {
        self.inner().pass(time);
    }

    /// Moves the wall clock by a number of milliseconds.
    pub fn set_wall_clock(&self, by: i64) {
        let mut inner = self.inner();
        inner.wall += by;
        inner.settings += 1;
    }

    /// Restarts the judge's machine: its processes end, and its clock since boot restarts at zero.
    pub fn restart(&self, off: Duration) {
        let mut inner = self.inner();
        inner.pass(off);
        let here = inner.stands.0;
        inner.machines[here].since_boot = 0;
        inner.machines[here].boots += 1;
        inner.running.retain(|process| process.machine != machine_name(here));
    }

    /// Moves the judge to a place given by a number, modulo four.
    pub fn stand(&self, place: u8) {
        self.inner().stands = (usize::from(place) % MACHINES, usize::from(place) / MACHINES % 2);
    }

    /// Hides the process table from the judge, or shows it.
    pub fn hide_processes(&self, is_hidden: bool) {
        self.inner().is_hidden = is_hidden;
    }

    /// Starts a process in the judge's container. Processes of different containers have the same ids.
    pub fn start_process(&self) -> ProcessMark {
        let mut inner = self.inner();
        let (machine, space) = inner.stands;
        inner.machines[machine].processes[space] += 1;
        let pid = inner.machines[machine].processes[space];
        let Standpoint { machine, pid_space, boot, .. } = inner.standpoint();
        let mark = ProcessMark { machine, pid_space, boot, pid, started: 1 };
        inner.running.insert(mark.clone());
        mark
    }

    /// Ends a process.
    pub fn end_process(&self, process: &ProcessMark) {
        self.inner().running.remove(process);
    }

    /// Has every process that runs, and leaves signs of life at all, leave one.
    pub fn leave_signs(&self) {
        let mut inner = self.inner();
        let running: Vec<ProcessMark> = inner.running.iter().cloned().collect();
        running.iter().for_each(|process| inner.leave_sign(process));
    }

    /// Tells whether a process runs, wherever it is.
    pub fn is_running(&self, process: &ProcessMark) -> bool {
        self.inner().running.contains(process)
    }

    /// Returns the last sign of life of a process.
    pub fn last_sign(&self, process: &ProcessMark) -> Option<SignLeft> {
        self.inner().signs.get(process).cloned()
    }

    /// Returns how much time has truly passed since a sign of life, and whether the wall clock was set since.
    pub fn since(&self, sign: &SignLeft) -> (Duration, bool) {
        let inner = self.inner();
        (inner.elapsed - sign.elapsed, inner.settings != sign.settings)
    }

    /// Returns the judge's container, and whether the process table is hidden from it.
    pub fn standpoint(&self) -> (Standpoint, bool) {
        let inner = self.inner();
        (inner.standpoint(), inner.is_hidden)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}

impl Inner {
    fn pass(&mut self, time: Duration) {
        let milliseconds = i64::try_from(time.as_millis()).unwrap();
        self.elapsed += time;
        self.wall += milliseconds;
        self.machines.iter_mut().for_each(|machine| machine.since_boot += milliseconds);
    }

    fn standpoint(&self) -> Standpoint {
        let (machine, space) = self.stands;
        let boots = self.machines[machine].boots;
        Standpoint {
            machine: machine_name(machine),
            pid_space: format!("space {space}"),
            boot: boot(machine, boots),
            ended_boots: (1..boots).map(|earlier| boot(machine, earlier)).collect(),
        }
    }

    /// Every third process leaves no signs.
    fn leave_sign(&mut self, process: &ProcessMark) {
        let Some(machine) = (0..MACHINES).find(|machine| machine_name(*machine) == process.machine) else { return };
        if !process.pid.is_multiple_of(3) && self.running.contains(process) {
            let left = Moment {
                wall: Timestamp(self.wall),
                boot: process.boot.clone(),
                since_boot: self.machines[machine].since_boot,
            };
            let sign = SignLeft { left, elapsed: self.elapsed, settings: self.settings };
            self.signs.insert(process.clone(), sign);
        }
    }
}

impl World for TurnedWorld {
    fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let inner = self.inner();
        let here = inner.standpoint();
        let look = |pid| {
            let Standpoint { machine, pid_space, boot, .. } = here.clone();
            let there = ProcessMark { machine, pid_space, boot, pid, started: 1 };
            match (inner.is_hidden, inner.running.contains(&there)) {
                (true, _) => Sight::Hidden,
                (false, true) => Sight::RunningSince(1),
                (false, false) => Sight::Gone,
            }
        };
        ProcessSeen {
            liveness: judge_process(process, &here, look),
            last_sign: inner.signs.get(process).map(|sign| sign.left.clone()),
            longest_silence: LONGEST_SILENCE,
            must_show_life: false,
        }
    }

    fn holds_now(&self, holder: &Holder) {
        self.inner().leave_sign(holder.process());
    }
}

fn machine_name(number: usize) -> String {
    format!("machine {number}")
}

fn boot(machine: usize, number: u32) -> String {
    format!("boot {number} of {machine}")
}
