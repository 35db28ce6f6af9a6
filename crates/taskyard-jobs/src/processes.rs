//! Looking at the processes of the machine, signalling exactly the one that is meant, and ending what is left of jobs without a supervisor.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use taskyard::core::{JobFate, ProcessMark};
use taskyard::jobs::JobRecord;
use taskyard::liveness::{Process, look_at, own_mark, sees_processes};
use taskyard::process::end_of;

/// The variable that holds a job's id in the environment of everything it starts.
pub(crate) const JOB: &str = "TASKYARD_JOB";
/// The variable that tells a job's processes from all other processes.
pub(crate) const TOKEN: &str = "TASKYARD_JOB_TOKEN";
/// How long processes that were killed have to end. Only one that waits for a device takes longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long we wait before we look again.
const PAUSE: Duration = Duration::from_millis(2);
/// How many looks in a row have to find no process: one may hand on to another while we look.
const ENOUGH_LOOKS: u32 = 5;

/// Returns every living process that can be seen, the newest first, each looked at when it is asked for: who hands on to a child
/// and ends is mostly among the newest, and gone a moment later.
pub(crate) fn all() -> impl Iterator<Item = Process> {
    let entries = sees_processes().then(|| std::fs::read_dir("/proc")).into_iter().flatten().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers.into_iter().filter_map(look_at)
}

/// Returns everything that descends from a process, except processes that are passed over, with what descends from them.
pub(crate) fn descendants(root: u32, is_passed_over: impl Fn(&Process) -> bool) -> Vec<Process> {
    // Where the system does not tell which process is whose child, we ask each process for its parent.
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

/// Returns the living children of a process, where the system tells of them. One may be missing beside whom another one ends.
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

/// Tells whether the system tells who is whose child.
fn tells_of_children() -> bool {
    std::path::Path::new("/proc/thread-self/children").exists()
}

/// Sends a signal to a process, unless its number belongs to another one by now. Tells whether it was sent.
#[cfg(target_os = "linux")]
pub(crate) fn signal(process: &Process, signal: Signal) -> bool {
    let Some(handle) = pid(process.pid).and_then(end_of) else { return false };
    let is_same = look_at(process.pid).is_some_and(|now| now.started == process.started);
    is_same && rustix::process::pidfd_send_signal(&handle, signal).is_ok()
}

/// Sends a signal to a process. Tells whether it was sent.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal(process: &Process, signal: Signal) -> bool {
    pid(process.pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

/// Returns something that becomes readable when the process ends; none where it has ended already, or the system has no such thing.
pub(crate) fn handle(mark: &ProcessMark) -> Option<OwnedFd> {
    let handle = end_of(pid(mark.pid)?)?;
    // What is open now is the process that has this number now.
    look_at(mark.pid).is_some_and(|now| now.started == mark.started).then_some(handle)
}

/// Sends a signal through what [`handle`] returned.
#[cfg(target_os = "linux")]
pub(crate) fn signal_through(handle: &OwnedFd, signal: Signal) {
    // It may have ended this very moment.
    let _ = rustix::process::pidfd_send_signal(handle, signal);
}

/// Does nothing: there are no such handles here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal_through(_handle: &OwnedFd, _signal: Signal) {}

/// Returns the number as the system wants it.
pub(crate) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Kills everything that still runs of jobs without a supervisor, and returns what would not end.
///
/// What they started is found by the token in its environment, by the pipe it writes to, and by the session of the
/// supervisor. A process that gave up all three on purpose is not found. All jobs are looked for at once: a look is at
/// every process of the machine.
pub(crate) fn kill_leftovers(records: &[&JobRecord]) -> Vec<u32> {
    if records.is_empty() { Vec::new() } else { kill_all(|| Wanted::of(records)) }
}

/// Kills everything that still writes to these pipes of ours, which began after us.
pub(crate) fn kill_writers(pipes: &[u64]) {
    let since = own_mark().started;
    kill_all(|| Wanted { pipes: pipes.iter().map(|pipe| (*pipe, since)).collect(), since, ..Wanted::default() });
}

/// Kills the wanted processes until none is found any more, and returns what would not end.
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

/// What processes are known by, each with the time before which none of them can have begun.
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
            // While the supervisor's number is another process's, so may the session of that number be.
            if let Some(pid) = supervisor.map(|mark| mark.pid).filter(|pid| !has_process(*pid)) {
                wanted.sessions.insert(pid, since);
            }
        }
        wanted
    }

    /// Tells whether a process is wanted.
    fn has(&self, process: &Process) -> bool {
        let is_after = |since: &u64| process.started >= *since;
        is_after(&self.since)
            && (self.sessions.get(&process.session).is_some_and(is_after)
                || token_of(process.pid).and_then(|token| self.tokens.get(&token)).is_some_and(is_after)
                || !self.pipes.is_empty()
                    && pipes_of(process.pid).any(|pipe| self.pipes.get(&pipe).is_some_and(is_after)))
    }
}

/// Kills the processes that are found, at once, and returns them.
fn find_and_kill(wanted: &Wanted) -> Vec<Process> {
    let own = std::process::id();
    // One that we are just starting has all our files open until it becomes another program. Only the first process of all is given the
    // children of other processes.
    let is_ours = |process: &Process| process.pid == own || process.parent == own && own != 1;
    let kill = |process: &Process| {
        signal(process, Signal::KILL);
    };
    all().filter(|process| !is_ours(process) && wanted.has(process)).inspect(kill).collect()
}

/// Tells whether there is a process of this number, ended or not.
fn has_process(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns the token of the job that started a process.
fn token_of(pid: u32) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| Some(variable.strip_prefix(TOKEN.as_bytes())?.strip_prefix(b"=")?.to_vec()))
}

/// Returns the pipes that a process has open.
fn pipes_of(pid: u32) -> impl Iterator<Item = u64> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let link = std::fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok()
    })
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
        // A process that is passed over is so with all that is below it.
        let others = descendants(std::process::id(), |process| process.pid == shell.pid);
        assert!(others.iter().all(|process| process.pid != shell.pid && process.parent != shell.pid));
        for process in below(child.id()) {
            assert!(signal(&process, Signal::KILL));
        }
        // A number that another process had is not ours to signal.
        assert!(!signal(&Process { started: shell.started + 1, ..shell }, Signal::KILL));
        child.wait().unwrap();
        assert_eq!(look_at(child.id()), None);
    }
}
