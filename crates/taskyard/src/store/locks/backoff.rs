//! How long to wait before looking again.

use std::time::Duration;

/// Pauses that double from 5 to 100 ms, each made a little uneven so that waiters do not march in step.
#[derive(Debug)]
pub(in crate::store) struct Backoff {
    pause: u64,
    seed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { pause: 5, seed: crate::clock::since_boot().unsigned_abs() ^ (u64::from(std::process::id()) << 32) | 1 }
    }
}

impl Backoff {
    /// Returns the next pause.
    pub(in crate::store) fn next(&mut self) -> Duration {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let base = self.pause * 1000;
        self.pause = (self.pause * 2).min(100);
        Duration::from_micros(base / 2 + self.seed % base)
    }
}
