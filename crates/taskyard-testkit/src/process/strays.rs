//! Processes that what a test started has started in its turn.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Kills every process in whose environment a variable has a value: jobs and their supervisors outlive the command that starts them, and
/// a test knows them by the home that is its own.
pub fn kill_all_with(name: &str, value: &str) {
    let wanted = format!("{name}={value}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}
