//! Something that a stream reads from.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use taskyard_core::ListId;

use super::{Cursor, Happening};
use crate::Error;
use crate::process::Waker;
use crate::store::{Moved, UNTOLD};

/// Something that a stream reads from.
pub(super) trait Source: Send {
    /// Looks, and adds what is new, in the order in which it happened. Returns after how long it is to be looked at again without having
    /// been told that something moved; none where that will be told.
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error>;

    /// Writes down how far it has read.
    fn mark(&self, cursor: &mut Cursor);
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What happened.
    pub(super) happenings: VecDeque<Happening>,
    /// Lists that are to be followed from now on.
    pub(super) lists_to_follow: Vec<ListId>,
    /// Lists that are to be followed no longer.
    pub(super) lists_to_leave: Vec<ListId>,
}

/// A source, and when it is to be looked at.
pub(super) struct Slot {
    source: Box<dyn Source>,
    /// The list it tells of, where it tells of one.
    pub(super) list: Option<ListId>,
    has_moved: Arc<AtomicBool>,
    due: Option<Instant>,
    /// What it last failed with: that is told once.
    failed: Option<String>,
}

/// What tells a stream that a source has moved.
pub(super) struct Mover {
    has_moved: Arc<AtomicBool>,
    waker: Waker,
}

impl Mover {
    pub(super) fn of(waker: &Waker) -> Self {
        // It was never looked at.
        Self { has_moved: Arc::new(AtomicBool::new(true)), waker: waker.clone() }
    }

    /// Returns what a source's watch calls.
    pub(super) fn moved(&self) -> Moved {
        let (has_moved, waker) = (Arc::clone(&self.has_moved), self.waker.clone());
        Arc::new(move || {
            has_moved.store(true, Ordering::SeqCst);
            waker.wake();
        })
    }

    /// Returns the slot of a source that calls what [`Self::moved`] returned.
    pub(super) fn slot(self, list: Option<ListId>, source: impl Source + 'static) -> Slot {
        Slot { source: Box::new(source), list, has_moved: self.has_moved, due: None, failed: None }
    }
}

impl Slot {
    /// Returns when it is to be looked at; none where nothing has moved, and that will be told.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.has_moved.load(Ordering::SeqCst) { Some(now) } else { self.due }
    }

    /// Returns why it cannot be looked at for the moment.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Writes down how far it has read.
    pub(super) fn mark(&self, cursor: &mut Cursor) {
        self.source.mark(cursor);
    }

    /// Looks where it is time. Fails where there is nothing to follow any more; other failures are logged, and looked at again.
    pub(super) fn look(&mut self, now: Instant, found: &mut Found) -> Result<(), Error> {
        // Before the look: what moves from here on is told again.
        let has_moved = self.has_moved.swap(false, Ordering::SeqCst);
        if !has_moved && self.due.is_none_or(|due| due > now) {
            return Ok(());
        }
        let pause = match self.source.look(found) {
            Ok(pause) => {
                self.failed = None;
                pause
            }
            Err(error) if error.newer_database().is_some() => return Err(error),
            Err(error) => {
                let words = error.to_string();
                if self.failed.as_ref() != Some(&words) {
                    tracing::warn!(error = words, "what happens cannot be told for the moment");
                }
                self.failed = Some(words);
                Some(UNTOLD)
            }
        };
        self.due = pause.map(|pause| Instant::now() + pause);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::super::Cursor;
    use super::{Found, Mover, Source, Waker};
    use crate::Error;
    use crate::store::StoreError;

    /// A source that cannot be read while the test says so.
    struct Breakable(Arc<AtomicBool>);

    impl Source for Breakable {
        fn look(&mut self, _found: &mut Found) -> Result<Option<Duration>, Error> {
            if self.0.load(Ordering::SeqCst) {
                return Err(StoreError::io("cannot read", "the journal")(io::Error::other("broken")).into());
            }
            Ok(None)
        }

        fn mark(&self, _cursor: &mut Cursor) {}
    }

    #[test]
    fn what_cannot_be_told_is_trouble_until_it_can_be_again() {
        let is_broken = Arc::new(AtomicBool::new(true));
        let mover = Mover::of(&Waker::new().unwrap());
        let mut slot = mover.slot(None, Breakable(Arc::clone(&is_broken)));
        let now = Instant::now();
        slot.look(now, &mut Found::default()).unwrap();
        assert!(slot.trouble().is_some_and(|why| why.contains("broken")), "{:?}", slot.trouble());
        let again = slot.due(now).expect("it is looked at again");
        is_broken.store(false, Ordering::SeqCst);
        slot.look(again, &mut Found::default()).unwrap();
        assert_eq!(slot.trouble(), None);
    }
}
