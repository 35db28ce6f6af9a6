//! The writer of a list.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use taskyard::core::{Event, ListId, Moment, Op};
use taskyard::store::kit::{Commit, Staging, Writer};
use taskyard::store::{Signature, StoreClock, StoreError};

use super::log::{Log, failed};

/// The one writer of a list. The flock of the list's file is given back with it.
#[derive(Debug)]
pub(super) struct LogWriter {
    log: Arc<Log>,
    list: ListId,
    _lock: File,
}

impl LogWriter {
    /// Waits until no other process writes to a list.
    pub(super) fn wait(log: &Arc<Log>, list: &ListId) -> Result<Self, StoreError> {
        Self::lock(log, list, FlockOperation::LockExclusive).map_err(failed("lock a list"))
    }

    /// Becomes the writer of a list where there is none.
    pub(super) fn without_waiting(log: &Arc<Log>, list: &ListId) -> Result<Option<Self>, StoreError> {
        match Self::lock(log, list, FlockOperation::NonBlockingLockExclusive) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            locked => locked.map(Some).map_err(failed("lock a list")),
        }
    }

    fn lock(log: &Arc<Log>, list: &ListId, lock: FlockOperation) -> io::Result<Self> {
        let file = File::create(log.directory.join(format!("{}.turn", list.directory())))?;
        flock(&file, lock)?;
        Ok(Self { log: Arc::clone(log), list: list.clone(), _lock: file })
    }

    /// Writes what several writers have staged: one line, which is in the log or is not.
    fn write<const N: usize>(
        staged: [(Self, Staging); N],
        signature: &Signature,
    ) -> Result<[Option<Event>; N], StoreError> {
        let log = Arc::clone(&staged[0].0.log);
        let now = StoreClock::default().now().wall;
        let mut commits = staged.map(|(writer, staging)| (writer, staging.into_commit(now, signature)));
        log.append(|lists| {
            let mut line = Vec::new();
            if let (Op::Rename, [(from, _), (into, commit)]) = (signature.op, commits.as_mut_slice()) {
                let (state, newest) = (lists.state(&from.list), lists.state(&into.list).revision);
                commit.go_on_from(state.revision, state.last_token);
                let repeated = Commit::repeated(lists.journal(&from.list), newest);
                line.extend(repeated.map(|commit| (into.list.clone(), commit)));
            }
            line.extend(commits.iter().map(|(writer, commit)| (writer.list.clone(), commit.clone())));
            line
        })?;
        Ok(commits.map(|(writer, commit)| commit.event(&writer.list)))
    }
}

impl Writer for LogWriter {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        Self::write([(self, staging)], signature).map(|[event]| event)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        Self::write([from, into], signature)
    }
}
