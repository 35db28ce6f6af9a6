//! What a yard on PostgreSQL costs, held against PostgreSQL's own programs doing the same by hand.
//!
//! `bench/run postgres`, which builds `taskyard` before; `TASKYARD_BENCH_SECONDS=10` for longer runs. It starts a PostgreSQL of its own with
//! `synchronous_commit` on, prints a line for each promise, and ends with 1 where one is not kept. Words choose parts: `claiming`, `one-shots`,
//! `sessions` (agents over MCP) and `round-trips`. The program is its own workers:
//! `postgres worker ADDRESS LIST NUMBER SECONDS WAY`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "it prints what it measures")]

mod claiming;
mod one_shots;
mod pgbench;
mod promises;
mod round_trips;
mod sessions;
mod yards;

use std::env;
use std::fs;
use std::process::ExitCode;

use taskyard_testkit::Cluster;

use promises::Promises;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["worker", address, list, number, seconds, way] = words[..] {
        claiming::worker(address, list, number.parse().unwrap(), seconds.parse().unwrap(), way);
        return ExitCode::SUCCESS;
    }
    let seconds = env::var("TASKYARD_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = tempfile::tempdir_in(env::var_os("TASKYARD_BENCH_DISK").unwrap_or_else(|| "/var/tmp".into())).unwrap();
    let settings = ["shared_buffers = '256MB'", "synchronous_commit = on", "max_wal_size = '4GB'"];
    let cluster = Cluster::make(folder.path(), &settings).stop_when_dropped();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    one_shots::HOME.set(home).unwrap();
    let mut promises = Promises::default();
    let parts: Vec<&str> = words.into_iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    if is_wanted("claiming") {
        claiming::measure(&cluster, seconds, &mut promises);
    }
    if is_wanted("one-shots") {
        one_shots::measure(&cluster, &mut promises);
    }
    if is_wanted("sessions") {
        sessions::measure(&cluster, seconds, &mut promises);
    }
    if is_wanted("round-trips") {
        round_trips::measure(&cluster);
    }
    promises.conclude()
}
