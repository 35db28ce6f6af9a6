//! Which processes of this machine are running, and which client started this one.

use std::fs;
use std::sync::{Arc, OnceLock};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, test_kill_process};
use taskyard_core::ProcessMark;
use taskyard_core::rules::leases::liveness::{
    Liveness, Sight, Standpoint, judge_process, judge_process_on_shared_store,
};

use crate::liveness::machine_identity::{Missing, machine_id, proof};
use crate::system;

/// A process, as of when it was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The id of its parent.
    pub parent: u32,
    /// The id of its session.
    pub session: u32,
    /// Its start time, in clock ticks since the machine booted.
    pub started: u64,
}

/// Returns whether a process is alive, as far as it can be seen from this one.
pub fn liveness_of(mark: &ProcessMark) -> Liveness {
    // This process is alive. Most leases that a server or a worker judges are its own.
    if mark.pid == std::process::id() && *mark == own_mark() {
        return Liveness::Alive;
    }
    judge_process(mark, &standpoint(), look_for)
}

/// Returns whether a process that holds something on a store shared by several machines is alive, as far as it can be
/// seen from this one.
pub fn liveness_on_shared_store(mark: &ProcessMark) -> Liveness {
    judge_process_on_shared_store(mark, &standpoint(), look_for)
}

/// Returns the mark of a running process; `None` if there is no such process, or it cannot be seen.
pub fn mark_of(pid: u32) -> Option<ProcessMark> {
    match look_for(pid) {
        Sight::RunningSince(started) => Some(mark(pid, started)),
        Sight::Gone | Sight::Hidden => None,
    }
}

/// Returns the mark of this process. Computed once.
pub fn own_mark() -> ProcessMark {
    // Needed for every lease that is judged, and never changes.
    static OWN: OnceLock<ProcessMark> = OnceLock::new();
    // `self` also works with the process table of another pid namespace.
    let look = || mark(std::process::id(), look_under("self").map_or(0, |process| process.started));
    OWN.get_or_init(look).clone()
}

fn mark(pid: u32, started: u64) -> ProcessMark {
    proof(Missing::Made);
    let Standpoint { machine, pid_space, boot, .. } = standpoint();
    ProcessMark { machine, pid_space, boot, pid, started }
}

/// Returns the machine, pid namespace and boot of this process.
pub(crate) fn standpoint() -> Standpoint {
    let (machine, ended_boots) = match proof(Missing::Left) {
        Some(proof) => (format!("{}/{}", machine_id(), proof.id), Arc::clone(&proof.ended_boots)),
        None => (machine_id().to_owned(), [].into()),
    };
    Standpoint { machine, pid_space: pid_space().to_owned(), boot: system::boot_id(), ended_boots }
}

fn pid_space() -> &'static str {
    // A process stays in the pid namespace in which it was started.
    static PID_SPACE: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
    PID_SPACE.get_or_init(|| read().unwrap_or_default())
}

/// Returns a checksum that identifies the pid namespace of this process, including the machine and its boot.
pub(crate) fn space_tag() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    // Machines made from one image have the same id, and the same name for their first pid namespace.
    for part in [machine_id(), pid_space(), &system::boot_id()] {
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

/// Looks up a process id in the process table.
#[cfg(target_os = "linux")]
pub(crate) fn look_for(pid: u32) -> Sight {
    if !sees_processes() {
        return Sight::Hidden;
    }
    match look_under(&pid.to_string()) {
        Some(process) => Sight::RunningSince(process.started),
        // For a process that is hidden from us, the system still says whether it exists.
        None if has_process(pid) && !is_in_table(pid) => Sight::Hidden,
        None => Sight::Gone,
    }
}

/// Looks up a process id. This system does not say when a process started.
#[cfg(not(target_os = "linux"))]
pub(crate) fn look_for(pid: u32) -> Sight {
    if has_process(pid) { Sight::RunningSince(0) } else { Sight::Gone }
}

/// Returns whether a process of our pid namespace is known to have ended. A reused id counts as the same process.
pub(crate) fn is_seen_dead(pid: u32) -> bool {
    look_for(pid) == Sight::Gone
}

/// Returns a living process; `None` if it is hidden or has ended, including zombies.
pub fn look_at(pid: u32) -> Option<Process> {
    look_under(&pid.to_string()).map(|process| Process { pid, ..process })
}

/// Returns whether the mounted process table belongs to our pid namespace. A process with its own pid namespace but
/// another process table would mistake other processes for the ones it looks for.
#[cfg(target_os = "linux")]
pub fn sees_processes() -> bool {
    static SEES: OnceLock<bool> = OnceLock::new();
    *SEES.get_or_init(|| {
        let own = std::fs::read_link("/proc/self").ok();
        own.and_then(|link| link.to_str()?.parse().ok()) == Some(std::process::id())
    })
}

/// Returns `false`: this system has no process table in files.
#[cfg(not(target_os = "linux"))]
pub fn sees_processes() -> bool {
    false
}

fn look_under(name: &str) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{name}/stat")).ok()?;
    parse(&stat)
}

/// Parses a line of the process table; `None` if the process has ended.
fn parse(stat: &[u8]) -> Option<Process> {
    // The command name is in parentheses and may itself contain parentheses.
    let begin = stat.iter().position(|byte| *byte == b'(')?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..begin)?).ok()?.trim().parse().ok()?;
    let text = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // The session is field 6 of the line, the start time field 22.
    let started = fields.nth(15)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(Process { pid, parent, session, started })
}

/// Returns whether the process table has a readable entry for a process id, even if the process has ended.
#[cfg(target_os = "linux")]
fn is_in_table(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/stat")).is_ok()
}

/// Returns whether the system knows a process id, without using the process table.
fn has_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The process name of the client, in both releases.
const CLIENT: &str = "claude";

/// How many ancestors to check. Between the client and its commands are a shell and whatever the shell runs.
const GENERATIONS: usize = 64;

/// The client that this process serves.
static SERVED: OnceLock<ProcessMark> = OnceLock::new();

/// Returns the nearest ancestor of this process that is Claude Code; `None` if there is none, or if processes cannot be
/// seen.
pub fn client_above() -> Option<ProcessMark> {
    ancestors().find(|pid| name_of(*pid).as_deref() == Some(CLIENT)).and_then(mark_of)
}

/// Returns when the clients on this machine started, in milliseconds since boot; `None` if not every process can be
/// seen.
pub(crate) fn clients_started() -> Option<Vec<i64>> {
    let sees_all = sees_processes() && name_of(1).is_some();
    let table = fs::read_dir("/proc").ok().filter(|_| sees_all)?;
    let pids = table.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let clients = pids.filter(|pid| name_of(*pid).as_deref() == Some(CLIENT)).filter_map(look_at);
    let ticks = clock_ticks_per_second().max(1);
    Some(clients.map(|client| i64::try_from(client.started * 1000 / ticks).unwrap_or(0)).collect())
}

/// Records that this process serves a client: what is leased through it ends with that client.
pub fn serve_client(client: ProcessMark) {
    let _ = SERVED.set(client);
}

pub(super) fn served_client() -> Option<&'static ProcessMark> {
    SERVED.get()
}

/// Returns the ancestors of this process, nearest first.
fn ancestors() -> impl Iterator<Item = u32> {
    let parent_of = |pid: u32| look_at(pid).map(|process| process.parent).filter(|parent| *parent > 1);
    let first = if sees_processes() { parent_of(std::process::id()) } else { None };
    std::iter::successors(first, move |pid| parent_of(*pid)).take(GENERATIONS)
}

fn name_of(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use taskyard_core::ProcessMark;
    use taskyard_core::rules::leases::liveness::Liveness;

    use super::{Process, is_seen_dead, liveness_of, mark_of, own_mark, parse, standpoint};

    #[test]
    fn process_lives_until_it_ends_even_as_a_zombie() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        assert_eq!(liveness_of(&mark), Liveness::Alive);
        let reused = ProcessMark { started: mark.started + 1, ..mark.clone() };
        assert_eq!(liveness_of(&reused), Liveness::Dead);
        child.kill().unwrap();
        // It is not reaped yet, so it stays in the process table.
        while liveness_of(&mark) == Liveness::Alive {
            std::thread::yield_now();
        }
        assert_eq!(liveness_of(&mark), Liveness::Dead);
        assert_eq!(mark_of(child.id()), None);
        child.wait().unwrap();
        assert_eq!(liveness_of(&mark), Liveness::Dead);
        assert!(is_seen_dead(mark.pid));
    }

    #[test]
    fn this_process_lives_and_another_machine_could_not_tell() {
        let own = own_mark();
        assert_eq!(liveness_of(&own), Liveness::Alive);
        assert_eq!(
            (own.machine.as_str(), own.boot.as_str()),
            (standpoint().machine.as_str(), standpoint().boot.as_str())
        );
        for elsewhere in [
            ProcessMark { machine: "another".into(), ..own.clone() },
            ProcessMark { pid_space: "pid:[1]".into(), ..own.clone() },
        ] {
            assert_eq!(liveness_of(&elsewhere), Liveness::Unknown);
        }
        assert_eq!(
            liveness_of(&ProcessMark { boot: "another".into(), ..own }),
            Liveness::Unknown,
            "nothing proves its end"
        );
    }

    #[test]
    fn a_line_of_the_table_is_read_whatever_the_command_is_called() {
        let line = |state: &str| format!("7 (a) b) (c) {state} 4 5 6 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 1 2\n");
        assert_eq!(parse(line("S").as_bytes()), Some(Process { pid: 7, parent: 4, session: 6, started: 99 }));
        assert_eq!(parse(line("Z").as_bytes()), None);
        assert_eq!(parse(b"nonsense"), None);
    }
}

#[cfg(test)]
mod client_process_tests {
    use super::ancestors;

    #[test]
    fn ancestors_begin_with_the_parent() {
        assert_eq!(ancestors().next(), Some(std::os::unix::process::parent_id()).filter(|pid| *pid > 1));
    }
}
