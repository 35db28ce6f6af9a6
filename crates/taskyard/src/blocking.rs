//! Which threads may wait for the disk.
//!
//! A server passes messages on a few threads. One that asked the file system there would keep every client waiting for a slow disk. So it
//! says which threads those are, and in debug builds whatever opens a store, a database or a file of ours panics on them.

use std::cell::Cell;

thread_local! {
    static IS_FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// Forbids this thread to wait for the disk, until it is dropped.
#[derive(Debug)]
pub struct BlockingForbidden {
    before: bool,
}

/// Forbids this thread to wait for the disk.
#[must_use]
pub fn forbid_blocking() -> BlockingForbidden {
    BlockingForbidden { before: IS_FORBIDDEN.replace(true) }
}

/// Does something that may wait for the disk, on a thread that was started for such things.
pub fn allow_blocking<T>(work: impl FnOnce() -> T) -> T {
    let allowed = BlockingForbidden { before: IS_FORBIDDEN.replace(false) };
    let done = work();
    drop(allowed);
    done
}

/// Says that this thread is about to wait for the disk.
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
