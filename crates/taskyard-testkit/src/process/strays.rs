//! Processes that what a test started has started in its turn, and that outlive it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio, id};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use rustix::process::{Pid, Signal, kill_process};

/// The variable by which everything is known that a test process started, whichever process of it did.
const MARK: &str = "TESTKIT_STARTED_BY";

/// Waits until the test process has ended, however it did, and kills what carries its mark until nothing does: what is killed may have been
/// about to start another process. It leads a group of its own, so that it outlives a runner that ends the group of a test.
const SWEEPER: &str = r#"
while read -r line; do :; done
while found=$(grep -lszxF "$1" /proc/[0-9]*/environ); [ -n "$found" ]; do
    for file in $found; do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}"
    done
done
"#;

/// Returns the mark that this test process gives to all it starts. From here on nothing that carries it outlives this process: one that
/// panics, aborts or is killed leaves nothing running.
#[expect(clippy::zombie_processes, reason = "the sweeper ends after this process, which cannot wait for it")]
pub(super) fn mark() -> (&'static str, &'static str) {
    static SWEPT: OnceLock<(String, ChildStdin)> = OnceLock::new();
    let (value, _) = SWEPT.get_or_init(|| {
        // Ids of processes are used again.
        let value = format!("{}-{}", id(), UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos());
        let mut sweeper = Command::new("sh");
        sweeper.args(["-c", SWEEPER, "sweeper", &format!("{MARK}={value}")]).env_remove(MARK).process_group(0);
        sweeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        let mut sweeper = sweeper.spawn().expect("a shell can be started");
        (value, sweeper.stdin.take().expect("its input is a pipe"))
    });
    (MARK, value)
}

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
