//! What one-shot commands cost: system calls, and flushes among them.
//!
//! `docs/design/engine.md` has the table. The counts are those of a debug build without the checks that only such a build makes; a tenth
//! more is allowed, for other versions of the C library.
#![allow(clippy::print_stdout, reason = "the counts are worth reading")]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use taskyard_testkit::wait_until;

use crate::test::Test;

/// Longer than the clock of any file system needs for a tick.
const SETTLED: Duration = Duration::from_millis(50);

/// What a command did.
#[derive(Debug)]
struct Calls {
    all: usize,
    flushes: usize,
}

/// Returns what a command does on files that no process has changed for a moment.
fn calls_of(test: &mut Test, line: &str) -> Calls {
    wait_until("the files are at rest", || ["data", "home"].iter().all(|place| is_settled(&test.path(place))));
    let trace = test.path("trace");
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    command.args(line.split(' ')).started_by("strace", &["-f", "-qq", "-o", trace.to_str().unwrap()]).succeed();
    let trace = fs::read_to_string(trace).unwrap();
    // A call that another thread interrupts is on two lines.
    let is_call = |line: &&str| !line.contains(" resumed>") && !line.contains("+++ ") && !line.contains("--- SIG");
    // Debug builds of the standard library look whether a descriptor is open before they close it.
    let calls: Vec<&str> = trace.lines().filter(is_call).filter(|line| !line.contains("F_GETFD")).collect();
    let is_flush = |line: &&&str| ["sync(", "syncfs(", "sync_file_range("].iter().any(|name| line.contains(name));
    Calls { all: calls.len(), flushes: calls.iter().filter(is_flush).count() }
}

fn is_settled(place: &Path) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    fs::read_dir(place).unwrap().flatten().all(|entry| {
        let Ok(found) = entry.metadata() else { return false };
        let changed = Duration::new(found.ctime().unsigned_abs(), u32::try_from(found.ctime_nsec()).unwrap());
        changed + SETTLED < now && (!found.is_dir() || is_settled(&entry.path()))
    })
}

/// Returns a home with a repository that has a list of ten tasks, all of them known.
fn ten_tasks() -> Test {
    let mut test = Test::new().strict().file("home/project/.git/HEAD", "ref: refs/heads/main\n");
    for number in 1..=10 {
        test = test.quietly(&format!("create 'Task {number}' --as ana"));
    }
    calls_of(&mut test, "list");
    test
}

/// Checks that a command does no more than this.
#[track_caller]
fn assert_within(line: &str, calls: &Calls, limit: usize, flushes: usize) {
    println!("`{line}`: {} calls, {} flushes", calls.all, calls.flushes);
    assert!(calls.all <= limit + limit / 10, "`{line}` makes {} calls, not {limit}", calls.all);
    assert!(calls.flushes <= flushes, "`{line}` flushes {} times, not {flushes}", calls.flushes);
}

#[test]
fn readers_cost_few_calls_and_no_flush() {
    let mut test = ten_tasks();
    for (line, limit) in [("list", 185), ("ready", 185), ("show 3", 214), ("statusline", 248)] {
        let calls = calls_of(&mut test, line);
        assert_within(line, &calls, limit, 0);
    }
}

#[test]
fn one_shot_writers_cost_few_calls_and_one_flush() {
    let mut test = ten_tasks();
    for (line, limit) in [("create another --as ana", 409), ("claim --next --as ana", 510), ("done 1 --as ana", 520)] {
        // The log has grown meanwhile, and a command that finds it long folds it in.
        test = test.quietly("gc");
        let calls = calls_of(&mut test, line);
        assert_within(line, &calls, limit, 1);
    }
}
