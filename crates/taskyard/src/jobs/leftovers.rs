//! What still runs of a job whose supervisor is gone.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use taskyard_core::JobFate;

use super::processes::{self, Process};
use super::record::Record;
use super::trampoline::TOKEN;

/// How long processes that were killed have to end. Only one that waits for a device takes longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long we wait before we look again.
const PAUSE: Duration = Duration::from_millis(2);
/// How many looks in a row have to find nobody: one may hand on to another while we look.
const ENOUGH_LOOKS: u32 = 5;

/// Kills everything that still runs of a job without a supervisor, and returns what would not end.
///
/// What it started is found by the token in its environment, by the pipe it writes to, and by the session of the supervisor. Who
/// gave up all three on purpose is not found.
pub(super) fn kill(record: &Record) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    let mut clean = 0;
    loop {
        let found = find_and_kill(record);
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

/// Kills whoever is found, at once, and returns them.
fn find_and_kill(record: &Record) -> Vec<Process> {
    let own = std::process::id();
    let supervisor = match &record.job.fate {
        JobFate::Running { supervisor, .. } => Some(supervisor),
        _ => None,
    };
    let since = supervisor.map_or(record.starter.started, |supervisor| supervisor.started);
    // While the supervisor's number is somebody else's, so may the session of that number be.
    let session = supervisor.map(|mark| mark.pid).filter(|pid| !has_process(*pid));
    let belongs = |process: &Process| {
        process.pid != own
            && process.started >= since
            && (Some(process.session) == session
                || has_token(process.pid, &record.token)
                || record.pipe.is_some_and(|pipe| writes_to(process.pid, pipe)))
    };
    let kill = |process: &Process| {
        processes::signal(process, Signal::KILL);
    };
    processes::all().filter(belongs).inspect(kill).collect()
}

/// Tells whether there is a process of this number, ended or not.
fn has_process(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Tells whether a process was started by the job.
fn has_token(pid: u32, token: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let wanted = format!("{TOKEN}={token}");
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

/// Tells whether a process has a pipe open for writing.
fn writes_to(pid: u32, pipe: u64) -> bool {
    let wanted = format!("pipe:[{pipe}]");
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    entries
        .flatten()
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()))
}
