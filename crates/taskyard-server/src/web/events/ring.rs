//! A bounded buffer of the newest events.

use std::collections::VecDeque;

use super::frame::Frame;

/// Maximum number of events kept for streams that are behind.
const FRAMES: usize = 1_024;
/// Maximum total size of these events in bytes.
const BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// The number of the newest event; zero if there was none.
    newest: u64,
}

/// The result of asking for later events.
#[derive(Debug)]
pub(super) enum After {
    Nothing,
    /// The next events, in order.
    Frames(Vec<Frame>),
    /// The next event has already been dropped.
    Behind,
}

impl Ring {
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Adds an event, which `make` builds from its number, and drops the oldest ones if there are too many.
    pub(super) fn push(&mut self, make: impl FnOnce(u64) -> Frame) {
        self.newest += 1;
        let frame = make(self.newest);
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame);
        while self.frames.len() > FRAMES || (self.bytes > BYTES && self.frames.len() > 1) {
            if let Some(oldest) = self.frames.pop_front() {
                self.bytes -= oldest.bytes.len();
            }
        }
    }

    /// Returns whether all events after a number are still kept.
    pub(super) fn reaches_back_to(&self, number: u64) -> bool {
        number <= self.newest && number >= self.newest - self.frames.len() as u64
    }

    /// Returns at most `most` events after a number.
    pub(super) fn after(&self, number: u64, most: usize) -> After {
        if number == self.newest {
            return After::Nothing;
        }
        if !self.reaches_back_to(number) {
            return After::Behind;
        }
        let skipped = self.frames.len() - (self.newest - number) as usize;
        After::Frames(self.frames.iter().skip(skipped).take(most).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;

    use super::super::frame::Frame;
    use super::{After, BYTES, FRAMES, Ring};

    fn filled(count: u64, size: usize) -> Ring {
        let mut ring = Ring::default();
        for _ in 0..count {
            ring.push(|number| Frame {
                number,
                revision: number,
                is_commit: true,
                is_reset: false,
                audience: None,
                bytes: Bytes::from(vec![0; size]),
            });
        }
        ring
    }

    fn numbers(after: After) -> Vec<u64> {
        match after {
            After::Frames(frames) => frames.iter().map(|frame| frame.number).collect(),
            After::Nothing | After::Behind => Vec::new(),
        }
    }

    #[test]
    fn lagging_reader_gets_next_events_up_to_its_limit() {
        let ring = filled(5, 1);
        assert_eq!(numbers(ring.after(2, 10)), [3, 4, 5]);
        assert_eq!(numbers(ring.after(0, 2)), [1, 2]);
        assert!(matches!(ring.after(5, 10), After::Nothing));
        assert!(matches!(ring.after(6, 10), After::Behind), "an id of another time");
        assert!(matches!(Ring::default().after(0, 1), After::Nothing));
    }

    #[test]
    fn buffer_is_bounded_and_lagging_reader_is_told() {
        let ring = filled(FRAMES as u64 + 10, 1);
        assert_eq!(ring.frames.len(), FRAMES);
        assert!(matches!(ring.after(9, 1), After::Behind));
        assert_eq!(numbers(ring.after(10, 1)), [11]);
        let large = filled(10, BYTES / 4);
        assert!(large.bytes <= BYTES && large.frames.len() == 4);
        assert_eq!(filled(2, BYTES * 2).frames.len(), 1, "one is kept however large");
    }
}
