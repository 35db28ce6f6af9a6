//! Finds processes, signals exactly the intended one, and handles the signals that this process receives.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use taskyard::core::{JobFate, ProcessMark};
use taskyard::jobs::JobRecord;
use taskyard::liveness::{Process, look_at, own_mark, sees_processes};
use taskyard::process::{Cancel, Stop, end_of};

/// The environment variable with a job's id, inherited by everything the job starts.
pub(crate) const JOB: &str = "TASKYARD_JOB";
/// The environment variable that identifies a job's processes.
pub(crate) const TOKEN: &str = "TASKYARD_JOB_TOKEN";
/// How long killed processes have to end. Only a process in uninterruptible sleep takes longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two scans.
const PAUSE: Duration = Duration::from_millis(2);
/// How many consecutive scans have to find no process: a process may fork and exit during a scan.
const ENOUGH_LOOKS: u32 = 5;

/// Returns every visible living process, newest first. Each is examined when the iterator reaches it: a process that
/// forks and exits is usually among the newest, and gone a moment later.
pub(crate) fn all() -> impl Iterator<Item = Process> {
    let entries = sees_processes().then(|| std::fs::read_dir("/proc")).into_iter().flatten().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers.into_iter().filter_map(look_at)
}

/// Returns all descendants of a process, except those that `is_passed_over` selects and their descendants.
pub(crate) fn descendants(root: u32, is_passed_over: impl Fn(&Process) -> bool) -> Vec<Process> {
    // If the system does not list the children of a process, ask every process for its parent.
    let everybody = if tells_of_children() { None } else { Some(all().collect::<Vec<_>>()) };
    let children_of = |parent: u32| match &everybody {
        None => children(parent),
        Some(everybody) => everybody.iter().filter(|one| one.parent == parent).copied().collect(),
    };
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in children_of(parent) {
            if !is_passed_over(&child) {
                parents.push(child.pid);
                found.push(child);
            }
        }
    }
    found
}

/// Returns the living children of a process, if the system lists them. One may be missing if a sibling ends at the same
/// time.
pub(crate) fn children(pid: u32) -> Vec<Process> {
    if !sees_processes() {
        return Vec::new();
    }
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        let numbers = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        numbers.collect::<Vec<u32>>()
    });
    numbers.filter_map(look_at).collect()
}

/// Returns whether the system lists the children of a process.
fn tells_of_children() -> bool {
    std::path::Path::new("/proc/thread-self/children").exists()
}

/// Sends a signal to a process, unless its pid has been reused. Returns whether the signal was sent.
#[cfg(target_os = "linux")]
pub(crate) fn signal(process: &Process, signal: Signal) -> bool {
    let Some(handle) = pid(process.pid).and_then(end_of) else { return false };
    let is_same = look_at(process.pid).is_some_and(|now| now.started == process.started);
    is_same && rustix::process::pidfd_send_signal(&handle, signal).is_ok()
}

/// Sends a signal to a process. Returns whether it was sent.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal(process: &Process, signal: Signal) -> bool {
    pid(process.pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

/// Returns a descriptor that becomes readable when the process ends; `None` if it has already ended, or the system has
/// no such descriptors.
pub(crate) fn handle(mark: &ProcessMark) -> Option<OwnedFd> {
    let handle = end_of(pid(mark.pid)?)?;
    // The descriptor refers to the process that has the pid now.
    look_at(mark.pid).is_some_and(|now| now.started == mark.started).then_some(handle)
}

/// Sends a signal through a descriptor returned by [`handle`].
#[cfg(target_os = "linux")]
pub(crate) fn signal_through(handle: &OwnedFd, signal: Signal) {
    // The process may have just ended.
    let _ = rustix::process::pidfd_send_signal(handle, signal);
}

/// Does nothing: there are no such descriptors on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal_through(_handle: &OwnedFd, _signal: Signal) {}

pub(crate) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Kills all remaining processes of jobs whose supervisor is gone; returns the pids of those that would not end.
///
/// They are found by the token in their environment, by the pipe they write to, and by the session of the supervisor. A
/// process that deliberately gave up all three is not found. All jobs are handled together, because every scan covers
/// all processes of the machine.
pub(crate) fn kill_leftovers(records: &[&JobRecord]) -> Vec<u32> {
    if records.is_empty() { Vec::new() } else { kill_all(|| Wanted::of(records)) }
}

/// Kills every process that still writes to these pipes and was started after this process.
pub(crate) fn kill_writers(pipes: &[u64]) {
    let since = own_mark().started;
    kill_all(|| Wanted { pipes: pipes.iter().map(|pipe| (*pipe, since)).collect(), since, ..Wanted::default() });
}

/// Kills the wanted processes until none is found; returns the pids of those that would not end.
fn kill_all(wanted: impl Fn() -> Wanted) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    let mut clean = 0;
    loop {
        let found = find_and_kill(&wanted());
        clean = if found.is_empty() { clean + 1 } else { 0 };
        if clean == ENOUGH_LOOKS {
            return Vec::new();
        }
        if !found.is_empty() && Instant::now() > deadline {
            return found.iter().map(|process| process.pid).collect();
        }
        std::thread::sleep(PAUSE);
    }
}

/// What processes are recognised by, each with the earliest time at which they can have started.
#[derive(Default)]
struct Wanted {
    tokens: HashMap<Vec<u8>, u64>,
    pipes: HashMap<u64, u64>,
    sessions: HashMap<u32, u64>,
    since: u64,
}

impl Wanted {
    fn of(records: &[&JobRecord]) -> Self {
        let mut wanted = Self { since: u64::MAX, ..Self::default() };
        for record in records {
            let supervisor = match &record.job.fate {
                JobFate::Running { supervisor, .. } => Some(supervisor),
                _ => None,
            };
            let since = supervisor.map_or(record.starter.started, |supervisor| supervisor.started);
            wanted.since = wanted.since.min(since);
            wanted.tokens.insert(record.token.as_bytes().to_vec(), since);
            if let Some(pipe) = record.pipe {
                wanted.pipes.insert(pipe, since);
            }
            // As long as another process has the supervisor's pid, the session with that number may be another one,
            // too.
            if let Some(pid) = supervisor.map(|mark| mark.pid).filter(|pid| !has_process(*pid)) {
                wanted.sessions.insert(pid, since);
            }
        }
        wanted
    }

    /// Returns whether a process is wanted.
    fn has(&self, process: &Process) -> bool {
        let is_after = |since: &u64| process.started >= *since;
        is_after(&self.since)
            && (self.sessions.get(&process.session).is_some_and(is_after)
                || token_of(process.pid).and_then(|token| self.tokens.get(&token)).is_some_and(is_after)
                || !self.pipes.is_empty()
                    && pipes_of(process.pid).any(|pipe| self.pipes.get(&pipe).is_some_and(is_after)))
    }
}

/// Kills each matching process as soon as it is found, and returns them.
fn find_and_kill(wanted: &Wanted) -> Vec<Process> {
    let own = std::process::id();
    // A child that we are just starting has all our files open until it calls exec. Only the first process of the
    // system adopts the children of other processes.
    let is_ours = |process: &Process| process.pid == own || process.parent == own && own != 1;
    let kill = |process: &Process| {
        signal(process, Signal::KILL);
    };
    all().filter(|process| !is_ours(process) && wanted.has(process)).inspect(kill).collect()
}

/// Returns whether a process with this pid exists, including one that has ended but was not reaped.
fn has_process(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

fn token_of(pid: u32) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| Some(variable.strip_prefix(TOKEN.as_bytes())?.strip_prefix(b"=")?.to_vec()))
}

fn pipes_of(pid: u32) -> impl Iterator<Item = u64> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let link = std::fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok()
    })
}

/// The signal that asked us to stop, or 0.
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Whether a pager owns the terminal.
static IS_PAGED: AtomicBool = AtomicBool::new(false);

/// Called before a signal ends the process.
static BEFORE_THE_END: OnceLock<fn()> = OnceLock::new();

/// How long a command that handles cancellation has to clean up.
const SIGNAL_PATIENCE: Duration = Duration::from_secs(5);

/// Leaves keyboard interrupts to a program that owns the terminal, such as the user's editor: it decides what they
/// mean.
#[cfg(unix)]
pub fn leave_interrupts_to_others() {
    // A handler that does nothing instead of SIG_IGN, which the other program would inherit.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
        let _ = signal_hook::flag::register(signal, std::sync::Arc::default());
    }
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn leave_interrupts_to_others() {}

/// Leaves keyboard interrupts to the pager from now on.
pub fn leave_interrupts_to_pager() {
    IS_PAGED.store(true, Ordering::SeqCst);
    leave_interrupts_to_others();
}

/// Releases all locks and exits with 128 plus the signal's number when the process receives a stop signal.
///
/// If a caller handles the cancellation (for example while hooks run), `cancel` is cancelled first and the caller gets
/// time to clean up. A second signal ends the process at once.
#[cfg(unix)]
pub fn end_in_order_when_stopped(cancel: Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    end_in_order_on(&[SIGINT, SIGTERM, SIGHUP], cancel);
}

/// Like [`end_in_order_when_stopped`], from the first turn on. Until then a stop signal ends the process as usual: it
/// holds no lock.
#[cfg(unix)]
pub fn end_in_order_once_locks_are_held(cancel: Cancel) {
    taskyard::store::before_first_turn(|| end_in_order_when_stopped(cancel));
}

/// Like [`end_in_order_when_stopped`], for a server, to which SIGHUP may mean something else.
#[cfg(unix)]
pub fn end_server_in_order(cancel: Cancel) {
    use signal_hook::consts::{SIGINT, SIGTERM};

    match hangup_means_reload() {
        true => end_in_order_on(&[SIGINT, SIGTERM], cancel),
        false => end_in_order_when_stopped(cancel),
    }
}

/// Returns whether SIGHUP asks a server to reload its configuration. If the server was started in a terminal, SIGHUP
/// means that the terminal is gone.
pub fn hangup_means_reload() -> bool {
    !std::io::stdin().is_terminal()
}

#[cfg(unix)]
fn end_in_order_on(these: &'static [i32], cancel: Cancel) {
    use signal_hook::consts::SIGINT;

    let Ok(mut signals) = signal_hook::iterator::Signals::new(these) else { return };
    let listening = thread("signals", move || {
        let mut signals = signals.forever();
        // While the pager owns the terminal, an interrupt is meant for the pager.
        let is_ours = |signal: &i32| *signal != SIGINT || !IS_PAGED.load(Ordering::SeqCst);
        let Some(signal) = signals.find(is_ours) else { return };
        STOPPED_BY.store(signal, Ordering::SeqCst);
        let is_attended = cancel.is_attended();
        cancel.cancel();
        let impatient = move || {
            std::thread::sleep(SIGNAL_PATIENCE);
            end(signal);
        };
        if is_attended && thread("impatience", impatient) {
            signals.next();
        }
        end(signal);
    });
    // Without the thread nothing would handle the signal, so exit from within the signal handler.
    if !listening {
        for &signal in these {
            let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always);
        }
    }
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn end_in_order_when_stopped(_cancel: Cancel) {}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn end_in_order_once_locks_are_held(_cancel: Cancel) {}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn end_server_in_order(_cancel: Cancel) {}

/// Stops the processes we started when this process receives stop signals: the first asks them to end, the second kills
/// them, the third ends this process immediately.
#[cfg(unix)]
pub fn stop_in_steps(stop: Stop) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread("signals", move || {
        for (number, signal) in signals.forever().enumerate() {
            STOPPED_BY.store(signal, Ordering::SeqCst);
            match number {
                0 => stop.ask(),
                1 => stop.kill(),
                _ => end(signal),
            }
        }
    });
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn stop_in_steps(_stop: Stop) {}

/// Records each stop signal and calls `told`, which can end the process in order.
#[cfg(unix)]
pub fn tell_when_stopped(told: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    thread("signals", move || {
        for (number, signal) in signals.forever().enumerate() {
            STOPPED_BY.store(signal, Ordering::SeqCst);
            told();
            // A user who interrupts a third time does not want to wait any longer.
            if number >= 2 {
                end(signal);
            }
        }
    });
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn tell_when_stopped(_told: impl Fn() + Send + 'static) {}

/// Runs the [`before_the_end`] function also when a signal that dumps core ends the process, which then dies of that
/// signal. A SIGQUIT counts only while `is_ours` returns whether the terminal is ours: otherwise it is meant for the
/// program that owns the terminal.
///
/// A process that calls `abort` dies before any other thread can act; a panic hook covers the causes of that.
#[cfg(unix)]
pub fn restore_before_core_dump(is_ours: fn() -> bool) {
    use signal_hook::consts::{SIGABRT, SIGQUIT};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGABRT, SIGQUIT]) else { return };
    thread("core-dumps", move || {
        let counts = |signal: &i32| *signal != SIGQUIT || is_ours();
        if let Some(signal) = signals.forever().find(counts) {
            BEFORE_THE_END.get().inspect(|to_do| to_do());
            taskyard::store::release_held_locks();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub fn restore_before_core_dump(_is_ours: fn() -> bool) {}

/// Registers a function to call before a signal ends the process, for example to restore the terminal.
pub fn before_the_end(to_do: fn()) {
    let _ = BEFORE_THE_END.set(to_do);
}

/// Records that the terminal is gone, as if SIGHUP had been received.
pub fn note_hangup() {
    const HANGUP: i32 = 1;
    let _ = STOPPED_BY.compare_exchange(0, HANGUP, Ordering::SeqCst, Ordering::SeqCst);
}

/// Returns whether a stop signal was received.
pub fn was_stopped() -> bool {
    STOPPED_BY.load(Ordering::SeqCst) != 0
}

/// Returns the exit code for a process that cleaned up after a stop signal; `None` if none was received.
pub fn exit_code() -> Option<u8> {
    let signal = STOPPED_BY.load(Ordering::SeqCst);
    u8::try_from(128 + signal).ok().filter(|_| signal != 0)
}

/// Makes a write beyond the file-size limit fail with an error instead of ending the process.
#[cfg(unix)]
pub fn survive_file_size_limits() {
    // The handler does nothing: a handled signal does not end the process, and the write fails with EFBIG.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Does nothing: there is no such signal on this system.
#[cfg(not(unix))]
pub fn survive_file_size_limits() {}

/// Ensures that exit statuses of child processes are available, even if our parent ignored SIGCHLD and we inherited
/// that.
#[cfg(unix)]
pub fn hear_of_children() {
    // While SIGCHLD is ignored, the system discards exit statuses, and a hook that blocks would count as passed.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCHLD, std::sync::Arc::default());
}

/// Does nothing: there is no such signal on this system.
#[cfg(not(unix))]
pub fn hear_of_children() {}

/// Cancels the work when the process receives a stop signal; the process goes on until it has ended in order.
#[cfg(unix)]
pub(crate) fn cancel_when_stopped(cancel: Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let listening = move || signals.forever().for_each(|_| cancel.cancel());
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(64 * 1024).spawn(listening);
}

/// Does nothing: there are no such signals on this system.
#[cfg(not(unix))]
pub(crate) fn cancel_when_stopped(_cancel: Cancel) {}

fn end(signal: i32) {
    BEFORE_THE_END.get().inspect(|to_do| to_do());
    taskyard::store::release_held_locks();
    std::process::exit(128 + signal);
}

/// Starts a thread with a small stack; returns whether that succeeded.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name(name.into()).stack_size(64 * 1024).spawn(work).is_ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Signal;
    use taskyard::liveness::{Process, look_at};

    use super::{descendants, signal};

    #[test]
    fn a_process_is_found_below_the_one_that_started_it() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let below = |root| descendants(root, |_| false);
        let found = || below(std::process::id()).into_iter().filter(|process| process.parent == child.id()).count();
        while found() == 0 {
            std::thread::yield_now();
        }
        let shell = look_at(child.id()).unwrap();
        assert_eq!(shell.parent, std::process::id());
        // A process is passed over together with its descendants.
        let others = descendants(std::process::id(), |process| process.pid == shell.pid);
        assert!(others.iter().all(|process| process.pid != shell.pid && process.parent != shell.pid));
        for process in below(child.id()) {
            assert!(signal(&process, Signal::KILL));
        }
        // A reused pid is not signalled.
        assert!(!signal(&Process { started: shell.started + 1, ..shell }, Signal::KILL));
        child.wait().unwrap();
        assert_eq!(look_at(child.id()), None);
    }
}
