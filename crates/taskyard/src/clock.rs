//! The two clocks: one that people read, one that only goes forward.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use taskyard_core::{Moment, Timestamp, UNKNOWN_BOOT};

/// Returns the wall time in nanoseconds, the clock that stamps files.
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    #[cfg(feature = "failpoints")]
    let wall = wall + crate::failpoint::wall_shift() * 1_000_000;
    wall
}

/// Returns the time since the machine started in nanoseconds, the same for every process.
pub(crate) fn since_boot() -> i64 {
    #[cfg(target_os = "linux")]
    let time = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the moment for a journal entry.
pub fn now() -> Timestamp {
    Timestamp(wall() / 1_000_000)
}

/// Returns the moment it is, by both clocks.
pub fn moment() -> Moment {
    Moment { wall: now(), boot: boot_id(), since_boot: since_boot() / 1_000_000 }
}

/// Returns a name for this run of the machine; another one means that it was off in between.
pub(crate) fn boot_id() -> String {
    #[cfg(feature = "failpoints")]
    if let Some(id) = crate::failpoint::boot_id() {
        return id.to_owned();
    }
    // A process lives in one run of the machine, and every lease is judged by this.
    static BOOT: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    BOOT.get_or_init(|| read().map(|id| id.trim().to_owned()).unwrap_or_else(|_| UNKNOWN_BOOT.to_owned())).clone()
}
