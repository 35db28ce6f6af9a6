//! A writer that was suspended in the middle of one of SQLite's transactions.
//!
//! SQLite's lock ends with its process, but not with a stop (`SIGSTOP`, the terminal's Ctrl-Z), and nobody else may break it. So a
//! suspended holder is let go on for the moment it takes to end its transaction, and is suspended again.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::store::lock_table::{is_suspended, record_holder};

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
pub(super) fn holder(database: &Path) -> Option<Pid> {
    let mut shared_memory = database.as_os_str().to_owned();
    shared_memory.push("-shm");
    record_holder(Path::new(&shared_memory), [WRITE_LOCK; 2])
}
