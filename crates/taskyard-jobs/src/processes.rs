//! Looking at the processes of the machine, and signalling exactly the one that is meant.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal};
use taskyard::core::ProcessMark;
use taskyard::liveness::{Process, look_at, sees_processes};
use taskyard::process::end_of;

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
