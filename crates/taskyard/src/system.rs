//! Services of the operating system: clocks, the boot id, random bytes, blocking checks and file locks.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};
use taskyard_core::{Moment, Timestamp, UNKNOWN_BOOT};

/// Returns the wall-clock time in nanoseconds, by the clock that sets file timestamps.
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    #[cfg(feature = "failpoints")]
    let wall = wall + crate::failpoint::wall_shift() * 1_000_000;
    wall
}

/// Returns the time since boot in nanoseconds, the same for every process.
pub(crate) fn since_boot() -> i64 {
    #[cfg(target_os = "linux")]
    let time = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the current time for a journal entry.
pub fn now() -> Timestamp {
    Timestamp(wall() / 1_000_000)
}

/// Returns the current time by both clocks.
pub fn moment() -> Moment {
    Moment { wall: now(), boot: boot_id(), since_boot: since_boot() / 1_000_000 }
}

/// Returns the id of the current boot. It changes when the machine restarts.
pub(crate) fn boot_id() -> String {
    #[cfg(feature = "failpoints")]
    if let Some(id) = crate::failpoint::boot_id() {
        return id.to_owned();
    }
    // Cached: it cannot change during a process's lifetime, and every lease is judged by it.
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| read_boot_id().unwrap_or_else(|| UNKNOWN_BOOT.to_owned())).clone()
}

fn read_boot_id() -> Option<String> {
    // The kernel returns the whole line in one read.
    let mut line = [0; 64];
    let count = std::fs::File::open("/proc/sys/kernel/random/boot_id").ok()?.read(&mut line).ok()?;
    Some(String::from_utf8_lossy(&line[..count]).trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns cryptographically secure random bytes.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a random number for names that need not be secret. The standard library seeds its hashers with system
/// randomness.
pub(crate) fn random_number() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

thread_local! {
    static IS_FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// Forbids blocking operations on this thread until it is dropped.
#[derive(Debug)]
pub struct BlockingForbidden {
    before: bool,
}

/// Forbids blocking operations on this thread until the returned guard is dropped.
#[must_use]
pub fn forbid_blocking() -> BlockingForbidden {
    BlockingForbidden { before: IS_FORBIDDEN.replace(true) }
}

/// Runs a function that may block, on a thread intended for that.
pub fn allow_blocking<T>(work: impl FnOnce() -> T) -> T {
    let allowed = BlockingForbidden { before: IS_FORBIDDEN.replace(false) };
    let done = work();
    drop(allowed);
    done
}

/// Debug builds panic here if blocking is forbidden on this thread.
pub(crate) fn about_to_block(doing: &str) {
    debug_assert!(!IS_FORBIDDEN.get(), "{doing} on a thread that passes messages");
}

impl Drop for BlockingForbidden {
    fn drop(&mut self) {
        IS_FORBIDDEN.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::{about_to_block, allow_blocking, forbid_blocking};
    use crate::machine::Machine;

    #[test]
    fn a_thread_that_passes_messages_opens_no_database() {
        let data = tempfile::tempdir().unwrap();
        let look = || Machine::look(data.path()).is_ok();
        assert!(look());
        let forbidden = forbid_blocking();
        assert!(catch_unwind(look).is_err());
        assert!(allow_blocking(look));
        assert!(catch_unwind(|| about_to_block("a look")).is_err());
        drop(forbidden);
        assert!(look());
    }
}

/// How often the table of locks is read before we conclude that no process holds the lock.
const LOOKS: u32 = 20;

/// Returns the process that holds the flock of a file; `None` if the system does not report one.
pub(crate) fn flock_holder(path: &Path) -> Option<Pid> {
    holder(path, "FLOCK", ["0", "EOF"])
}

/// Returns the process that holds a write lock on a range of a file; `None` if the system does not report one.
pub(crate) fn record_holder(path: &Path, range: [&str; 2]) -> Option<Pid> {
    holder(path, "POSIX", range)
}

/// Returns whether another process has a record lock on a range of a file, as far as the system reports.
pub(crate) fn is_locked_by_others(path: &Path, range: [&str; 2]) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let own = i32::try_from(std::process::id()).ok();
    locks
        .lines()
        .filter_map(|line| reader_or_writer(line, found.ino(), "POSIX", range))
        .any(|holder| Some(holder) != own)
}

/// Returns whether a process is suspended (`SIGSTOP`, the terminal's Ctrl-Z).
pub(crate) fn is_suspended(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // The state follows the command's name, which may contain parentheses itself. A stop by a debugger is a `t`.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

fn holder(path: &Path, kind: &str, range: [&str; 2]) -> Option<Pid> {
    let inode = fs::metadata(path).ok()?.ino();
    let look = || {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| writer(line, inode, kind, range)).and_then(Pid::from_raw)
    };
    // The table may miss lines while other processes take and release locks.
    (0..LOOKS).find_map(|_| look())
}

/// Parses a line like `3: POSIX  ADVISORY  WRITE 4711 fd:00:1234 120 120`. A waiting process has `->` before the kind.
fn writer(line: &str, inode: u64, kind: &str, range: [&str; 2]) -> Option<i32> {
    if line.contains(" WRITE ") { reader_or_writer(line, inode, kind, range) } else { None }
}

fn reader_or_writer(line: &str, inode: u64, kind: &str, range: [&str; 2]) -> Option<i32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, found, _, "READ" | "WRITE", process, file, first, last] = fields[..] else { return None };
    let is_this = file.rsplit(':').next().is_some_and(|number| number.parse() == Ok(inode));
    (is_this && found == kind && [first, last] == range).then(|| process.parse().ok()).flatten()
}

#[cfg(test)]
mod lock_table_tests {
    use super::{reader_or_writer, writer};

    #[test]
    fn only_the_writer_of_the_file_is_found_in_the_table_of_locks() {
        let lines = [
            ("1: POSIX  ADVISORY  WRITE 4711 fd:00:1234 120 120", Some(4711), None),
            ("1: -> POSIX  ADVISORY  WRITE 4712 fd:00:1234 120 120", None, None),
            ("2: POSIX  ADVISORY  READ 4713 fd:00:1234 120 120", None, None),
            ("3: POSIX  ADVISORY  WRITE 4714 fd:00:1234 123 123", None, None),
            ("4: POSIX  ADVISORY  WRITE 4715 fd:00:12345 120 120", None, None),
            ("5: FLOCK  ADVISORY  WRITE 4716 fd:00:1234 0 EOF", None, Some(4716)),
            ("5: -> FLOCK  ADVISORY  WRITE 4717 fd:00:1234 0 EOF", None, None),
        ];
        for (line, record, flock) in lines {
            assert_eq!(writer(line, 1234, "POSIX", ["120", "120"]), record, "{line}");
            assert_eq!(writer(line, 1234, "FLOCK", ["0", "EOF"]), flock, "{line}");
        }
    }

    #[test]
    fn a_reader_counts_where_any_lock_does() {
        let holder = |line: &str| reader_or_writer(line, 1234, "POSIX", ["120", "120"]);
        assert_eq!(holder("2: POSIX  ADVISORY  READ 4713 fd:00:1234 120 120"), Some(4713));
        assert_eq!(holder("2: POSIX  ADVISORY  WRITE 4713 fd:00:1234 120 120"), Some(4713));
        assert_eq!(holder("2: -> POSIX  ADVISORY  READ 4713 fd:00:1234 120 120"), None);
    }
}
