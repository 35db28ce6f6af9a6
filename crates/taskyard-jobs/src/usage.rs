//! What a job used.

use std::time::Duration;

use taskyard::core::{JobUsage, ProcessMark};
use taskyard::liveness::look_at;

/// Returns the time that everything used which this process took notice of when it ended.
pub(crate) fn of_children() -> JobUsage {
    let times = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(13);
        let mut time = || Some(ticks(fields.next()?.parse().ok()?));
        // The 16th and the 17th field of the line.
        Some((time()?, time()?))
    };
    let (user, system) = times().unwrap_or_default();
    JobUsage { user, system, peak_memory: None }
}

/// Returns the most memory a living process has had; none where its number is another one's by now.
pub(crate) fn peak_memory(process: &ProcessMark) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    look_at(process.pid).filter(|now| now.started == process.started)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn ticks(count: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(count.saturating_mul(1000) / per_second)
}
