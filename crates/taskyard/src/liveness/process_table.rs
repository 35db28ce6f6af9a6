//! Looking at the processes of the machine.

use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, test_kill_process};
use taskyard_core::ProcessMark;
use taskyard_core::rules::leases::liveness::{
    Liveness, Sight, Standpoint, judge_process, judge_process_on_shared_store,
};

use super::machine_id::machine_id;
use super::machine_proof::{Missing, proof};
use crate::clock;

/// A process, as it was when we looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The id of its parent.
    pub parent: u32,
    /// The id of its session.
    pub session: u32,
    /// When it was started, in clock ticks since the machine was.
    pub started: u64,
}

/// Tells whether a process lives, as far as it can be seen from this one.
pub fn liveness_of(mark: &ProcessMark) -> Liveness {
    // The process that asks is alive. Most leases that a server or a worker looks at are its own.
    if mark.pid == std::process::id() && *mark == own_mark() {
        return Liveness::Alive;
    }
    judge_process(mark, &standpoint(), look_for)
}

/// Tells whether a process lives that holds something on a store that several machines share, as far as it can be seen from this one.
pub fn liveness_on_shared_store(mark: &ProcessMark) -> Liveness {
    judge_process_on_shared_store(mark, &standpoint(), look_for)
}

/// Returns the mark of a process that runs now; none where there is no such process, or it cannot be seen.
pub fn mark_of(pid: u32) -> Option<ProcessMark> {
    match look_for(pid) {
        Sight::RunningSince(started) => Some(mark(pid, started)),
        Sight::Gone | Sight::Hidden => None,
    }
}

/// Returns the mark of this process.
pub fn own_mark() -> ProcessMark {
    // It is asked for with every lease that is judged, and never changes.
    static OWN: OnceLock<ProcessMark> = OnceLock::new();
    // Under this name the process table of another pid namespace tells of us, too.
    let look = || mark(std::process::id(), look_under("self").map_or(0, |process| process.started));
    OWN.get_or_init(look).clone()
}

fn mark(pid: u32, started: u64) -> ProcessMark {
    proof(Missing::Made);
    let Standpoint { machine, pid_space, boot, .. } = standpoint();
    ProcessMark { machine, pid_space, boot, pid, started }
}

/// Returns where this process stands.
pub(crate) fn standpoint() -> Standpoint {
    let (machine, ended_boots) = match proof(Missing::Left) {
        Some(proof) => (format!("{}/{}", machine_id(), proof.id), Arc::clone(&proof.ended_boots)),
        None => (machine_id().to_owned(), [].into()),
    };
    Standpoint { machine, pid_space: pid_space().to_owned(), boot: clock::boot_id(), ended_boots }
}

fn pid_space() -> &'static str {
    // A process stays where it was started.
    static PID_SPACE: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
    PID_SPACE.get_or_init(|| read().unwrap_or_default())
}

/// Returns a number for the pid namespace of the run of the machine in which our process ids mean something.
pub(crate) fn space_tag() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    // Machines made from one image have one id, and call their first pid namespace the same.
    for part in [machine_id(), pid_space(), &clock::boot_id()] {
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

/// Returns what the process table says of a process id.
#[cfg(target_os = "linux")]
pub(crate) fn look_for(pid: u32) -> Sight {
    if !sees_processes() {
        return Sight::Hidden;
    }
    match look_under(&pid.to_string()) {
        Some(process) => Sight::RunningSince(process.started),
        // Of processes that are hidden from us the system still says whether there are any.
        None if has_process(pid) && !is_in_table(pid) => Sight::Hidden,
        None => Sight::Gone,
    }
}

/// Returns what the system says of a process id; it does not tell when a process started.
#[cfg(not(target_os = "linux"))]
pub(crate) fn look_for(pid: u32) -> Sight {
    if has_process(pid) { Sight::RunningSince(0) } else { Sight::Gone }
}

/// Tells whether this process can see that another one of its pid namespace has ended, known by its id alone.
pub(crate) fn is_seen_dead(pid: u32) -> bool {
    look_for(pid) == Sight::Gone
}

/// Returns a living process; none where it has ended, whether or not its parent has noticed, or is hidden.
pub fn look_at(pid: u32) -> Option<Process> {
    look_under(&pid.to_string()).map(|process| Process { pid, ..process })
}

/// Tells whether the process table that is mounted numbers processes as we do. A process that has its own pid namespace and not its own
/// process table would take other processes for those it looks for.
#[cfg(target_os = "linux")]
pub fn sees_processes() -> bool {
    static SEES: OnceLock<bool> = OnceLock::new();
    *SEES.get_or_init(|| {
        let own = std::fs::read_link("/proc/self").ok();
        own.and_then(|link| link.to_str()?.parse().ok()) == Some(std::process::id())
    })
}

/// Returns false: this system has no process table that is read as a file.
#[cfg(not(target_os = "linux"))]
pub fn sees_processes() -> bool {
    false
}

fn look_under(name: &str) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{name}/stat")).ok()?;
    parse(&stat)
}

/// Reads a line of the process table; none where the process has ended.
fn parse(stat: &[u8]) -> Option<Process> {
    // The name of the command stands in parentheses and may hold anything, more parentheses included.
    let begin = stat.iter().position(|byte| *byte == b'(')?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..begin)?).ok()?.trim().parse().ok()?;
    let text = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // The session is the sixth field of the line, the start time the 22nd.
    let started = fields.nth(15)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(Process { pid, parent, session, started })
}

/// Tells whether the table has a line of a process id that can be read, if only of one that has ended.
#[cfg(target_os = "linux")]
fn is_in_table(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/stat")).is_ok()
}

/// Tells whether the system knows a process of an id, without asking the process table.
fn has_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use taskyard_core::ProcessMark;
    use taskyard_core::rules::leases::liveness::Liveness;

    use super::{Process, is_seen_dead, liveness_of, mark_of, own_mark, parse, standpoint};

    #[test]
    fn a_process_lives_until_it_ends_whether_or_not_its_parent_has_noticed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        assert_eq!(liveness_of(&mark), Liveness::Alive);
        let reused = ProcessMark { started: mark.started + 1, ..mark.clone() };
        assert_eq!(liveness_of(&reused), Liveness::Dead);
        child.kill().unwrap();
        // Not waited for: it stays in the process table.
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
