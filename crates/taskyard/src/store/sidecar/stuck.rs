//! A writer that was suspended in the middle of one of SQLite's transactions.
//!
//! SQLite's lock ends with its process, but not with a stop (`SIGSTOP`, the terminal's Ctrl-Z), and nobody else may break it. So a
//! suspended holder is let go on for the moment it takes to end its transaction, and is suspended again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// The byte of the `-shm` file that a writer locks (SQLite's `WAL_WRITE_LOCK`).
const WRITE_LOCK: &str = "120";

/// A suspended process that was let go on; dropped, it is suspended again.
#[derive(Debug)]
pub(super) struct LetGoOn {
    process: Pid,
}

impl LetGoOn {
    /// Wakes the process that is in a transaction of this database, if it is one that was suspended.
    pub(super) fn holder(database: &Path) -> Option<Self> {
        let process = holder(database).filter(|process| is_suspended(*process))?;
        kill_process(process, Signal::CONT).ok()?;
        Some(Self { process })
    }
}

impl Drop for LetGoOn {
    fn drop(&mut self) {
        let _ = kill_process(self.process, Signal::STOP);
    }
}

/// Returns the process that is in a transaction of a database, where the system tells.
///
/// It is looked up in the table of all locks: asking for the lock itself means opening and closing the file, and that would end
/// every lock this process has on it.
pub(super) fn holder(database: &Path) -> Option<Pid> {
    let mut shared_memory = database.as_os_str().to_owned();
    shared_memory.push("-shm");
    let inode = fs::metadata(shared_memory).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| writer(line, inode)).and_then(Pid::from_raw)
}

/// Reads a line like `3: POSIX  ADVISORY  WRITE 4711 fd:00:1234 120 120`; one that waits for a lock has an arrow before its kind.
fn writer(line: &str, inode: u64) -> Option<i32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, "POSIX", _, "WRITE", process, file, WRITE_LOCK, WRITE_LOCK] = fields[..] else { return None };
    let is_this = file.rsplit(':').next().is_some_and(|number| number.parse() == Ok(inode));
    is_this.then(|| process.parse().ok()).flatten()
}

fn is_suspended(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // The state follows the name of the command, which may hold parentheses itself. A debugger's stop is a small `t`.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::writer;

    #[test]
    fn only_the_writer_of_the_file_is_found_in_the_table_of_locks() {
        let lines = [
            ("1: POSIX  ADVISORY  WRITE 4711 fd:00:1234 120 120", Some(4711)),
            ("1: -> POSIX  ADVISORY  WRITE 4712 fd:00:1234 120 120", None),
            ("2: POSIX  ADVISORY  READ 4713 fd:00:1234 120 120", None),
            ("3: POSIX  ADVISORY  WRITE 4714 fd:00:1234 123 123", None),
            ("4: POSIX  ADVISORY  WRITE 4715 fd:00:12345 120 120", None),
            ("5: FLOCK  ADVISORY  WRITE 4716 fd:00:1234 0 EOF", None),
        ];
        for (line, process) in lines {
            assert_eq!(writer(line, 1234), process, "{line}");
        }
    }
}
