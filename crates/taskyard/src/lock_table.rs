//! Who holds a lock, by the table of all locks that the system keeps.
//!
//! Asking for a lock itself means opening and closing the file, and of some kinds of locks that would end every one this process
//! has on it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::Pid;

/// How often the table is read before we believe that no process holds a lock.
const LOOKS: u32 = 20;

/// Returns the process that holds the flock of a file, where the system tells.
pub(crate) fn flock_holder(path: &Path) -> Option<Pid> {
    holder(path, "FLOCK", ["0", "EOF"])
}

/// Returns the process that holds a record lock on a range of a file, where the system tells.
pub(crate) fn record_holder(path: &Path, range: [&str; 2]) -> Option<Pid> {
    holder(path, "POSIX", range)
}

/// Tells whether another process has a record lock on a range of a file, as far as the system tells.
pub(crate) fn is_locked_by_others(path: &Path, range: [&str; 2]) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let own = i32::try_from(std::process::id()).ok();
    locks
        .lines()
        .filter_map(|line| reader_or_writer(line, found.ino(), "POSIX", range))
        .any(|holder| Some(holder) != own)
}

/// Tells whether a process was suspended (`SIGSTOP`, the terminal's Ctrl-Z).
pub(crate) fn is_suspended(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // The state follows the name of the command, which may hold parentheses itself. A debugger's stop is a small `t`.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

fn holder(path: &Path, kind: &str, range: [&str; 2]) -> Option<Pid> {
    let inode = fs::metadata(path).ok()?.ino();
    let look = || {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| writer(line, inode, kind, range)).and_then(Pid::from_raw)
    };
    // While other processes come and go, the system leaves lines out.
    (0..LOOKS).find_map(|_| look())
}

/// Reads a line like `3: POSIX  ADVISORY  WRITE 4711 fd:00:1234 120 120`; one that waits for a lock has an arrow before its kind.
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
mod tests {
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
