//! What still runs of jobs whose supervisors are gone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use taskyard::core::JobFate;
use taskyard::jobs::JobRecord;
use taskyard::liveness::{Process, own_mark};

use super::processes;
use super::trampoline::TOKEN;

/// How long processes that were killed have to end. Only one that waits for a device takes longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long we wait before we look again.
const PAUSE: Duration = Duration::from_millis(2);
/// How many looks in a row have to find no process: one may hand on to another while we look.
const ENOUGH_LOOKS: u32 = 5;

/// Kills everything that still runs of jobs without a supervisor, and returns what would not end.
///
/// What they started is found by the token in its environment, by the pipe it writes to, and by the session of the
/// supervisor. A process that gave up all three on purpose is not found. All jobs are looked for at once: a look is at
/// every process of the machine.
pub(crate) fn kill(records: &[&JobRecord]) -> Vec<u32> {
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
        processes::signal(process, Signal::KILL);
    };
    processes::all().filter(|process| !is_ours(process) && wanted.has(process)).inspect(kill).collect()
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
