//! What commands cost on a list to which much has happened: no command reads what is not asked for, and nothing that is read in full is
//! held in full.
//!
//! The figures of a journal of 100,000 revisions: `TASKYARD_TEST_SCALE=1 cargo test --release -p taskyard-cli --test crashes long_journal:: --
//! --nocapture`.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "what was measured is for the developer who asks for it")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId};
use taskyard_testkit::{Home, Scale, is_once_within, write_long_journal};

/// What a command may use at most, in kilobytes, and the address space it has to do with. The code itself is part of it, and that of builds
/// without optimization is larger.
const MEMORY: u64 = if cfg!(debug_assertions) { 60_000 } else { 50_000 };
const ADDRESS_SPACE: u64 = if cfg!(debug_assertions) { 240_000 } else { 150_000 };
/// The time on a processor that a command may take that asks for little. Builds without optimization are given more.
const LITTLE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 600 } else { 50 });

/// Runs a command and tells what it used: its code, the milliseconds it took, those on a processor, and the kilobytes it had at most. The
/// system tells only the parent that waits for a child what it used, and counts what the parent had when it started the child: so a small
/// program does it.
const MEASURE: &str = "
import os, resource, sys, time
limit, out = int(sys.argv[1]), sys.argv[2]
begun = time.monotonic()
child = os.fork()
if child == 0:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit * 1000, limit * 1000))
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.execv(sys.argv[3], sys.argv[3:])
_, status, used = os.wait4(child, 0)
took = time.monotonic() - begun
print(os.waitstatus_to_exitcode(status), int(took * 1000), int((used.ru_utime + used.ru_stime) * 1000), used.ru_maxrss)
";

/// A list with a long journal.
struct LongList {
    home: Home,
    revisions: usize,
}

/// What a command used.
struct Used {
    processor: Duration,
    kilobytes: u64,
}

impl LongList {
    fn new() -> Self {
        let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        let revisions = Scale::from_environment(0.01).of(100_000).max(500);
        let yard = Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new("busy").unwrap());
        // However few they are, all of it is more than a command may use.
        write_long_journal(&yard, revisions, (45_000_000 / revisions).max(1000));
        Self { home, revisions }
    }

    /// Runs a command that has to succeed with so much address space, or with as much as it wants.
    fn measure(&self, words: &str, limit: u64) -> Used {
        let plain = self.home.command(words);
        let output =
            plain.started_by("python3", &["-c", MEASURE, &limit.to_string(), self.output().to_str().unwrap()]).output();
        let told = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let told: Vec<i64> = told.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [code, took, processor, kilobytes] = told[..] else { panic!("`{words}`: {complaint}") };
        assert_eq!(code, 0, "`{words}` with {limit} kB of address space: {complaint}");
        let limited = if limit == 0 { "" } else { ", limited" };
        eprintln!("{words}{limited}: {took} ms, {processor} ms on a processor, {kilobytes} kB");
        let kilobytes = kilobytes.unsigned_abs();
        assert!(kilobytes < MEMORY, "`{words}` took {kilobytes} kB");
        Used { processor: Duration::from_millis(processor.unsigned_abs()), kilobytes }
    }

    /// Runs a command that asks for little, each time after something has been done to the list.
    fn run_little(&self, words: &str, prepare: impl Fn()) {
        is_once_within(LITTLE, words, || {
            prepare();
            self.measure(words, ADDRESS_SPACE).processor
        });
    }

    /// Returns where the output of the last command is.
    fn output(&self) -> PathBuf {
        self.home.path().join("output")
    }

    fn newest(&self) -> u64 {
        self.home.ask("history -n 1")["entries"][0]["revision"].as_u64().unwrap()
    }
}

#[derive(Deserialize)]
struct Answer {
    schema: String,
    entries: Vec<HistoryLine>,
}

#[derive(Deserialize)]
struct HistoryLine {
    revision: u64,
}

/// All checks share one list, because creating it takes most of the time.
#[test]
fn a_long_journal_takes_little_memory_and_time() {
    let list = LongList::new();
    a_reader_of_a_long_journal_that_leaves_ends_it_quietly(&list);
    a_journal_that_is_watched_from_its_beginning_is_never_in_memory_in_full(&list);
    a_journal_that_is_read_in_full_is_never_in_memory_in_full(&list);
    what_asks_for_little_costs_little_however_long_the_journal_is(&list);
}

fn what_asks_for_little_costs_little_however_long_the_journal_is(list: &LongList) {
    let nothing = || {};
    list.run_little("history -n 30", nothing);
    list.run_little("history 5 -n 3", nothing);
    list.run_little("show 1", nothing);
    list.run_little("list", nothing);
    list.run_little("update 4 --subject Another", nothing);
    list.run_little("claim --next", nothing);
    list.run_little("undo", || drop(list.home.ask("update 7 --subject New")));
    // Task 2 went at the beginning of the journal; task 1 has half of it.
    list.run_little("restore --deleted 2", || drop(list.home.run("delete 2")));
    for id in ["1", "5"] {
        list.run_little(&format!("restore {id}"), || fs::remove_file(list.home.task_file(id)).unwrap());
    }
    assert_eq!(list.home.ask("show 3")["task"]["blockedBy"], serde_json::json!(["2"]), "the edge came back, too");
    for limit in [ADDRESS_SPACE, 0] {
        list.measure("restore", limit);
        list.measure("doctor", limit);
        list.measure("export --to document", limit);
    }
    let config = list.home.path().join(".config/taskyard");
    fs::create_dir_all(&config).unwrap();
    let hook = "[[hooks.TaskCompleted]]\ncommand = \"cat > tasks\"\nstdin = \"tasks\"\n";
    fs::write(config.join("taskyard.toml"), hook).unwrap();
    list.run_little("done 8", || drop(list.home.ask("reopen 8")));
    let array: Vec<Value> = serde_json::from_slice(&fs::read(list.home.path().join("tasks")).unwrap()).unwrap();
    assert_eq!(array.len(), 20);
}

fn a_journal_that_is_read_in_full_is_never_in_memory_in_full(list: &LongList) {
    let sidecar = list.home.sidecar("L");
    let size = fs::metadata(sidecar.join("journal.sqlite")).unwrap().len();
    eprintln!("{} revisions, {size} bytes", list.revisions);
    let newest = list.newest();
    list.measure("history", 0);
    let lines = BufReader::new(File::open(list.output()).unwrap()).lines().count();
    assert!(lines >= list.revisions, "{lines} lines");
    let used = list.measure("history --json", ADDRESS_SPACE);
    let answer: Answer = serde_json::from_reader(BufReader::new(File::open(list.output()).unwrap())).unwrap();
    assert_eq!(answer.schema, "taskyard/1");
    let told: Vec<u64> = answer.entries.iter().map(|entry| entry.revision).collect();
    assert_eq!(told.first().zip(told.last()), Some((&1, &newest)));
    assert!(told.windows(2).all(|two| two[1] - two[0] <= 1), "a revision is missing");
    let written = fs::metadata(list.output()).unwrap().len();
    assert!(used.kilobytes * 1000 < written, "{written} bytes were written");
    list.measure(&format!("undo {}..{newest}", newest / 2), ADDRESS_SPACE);
}

fn a_journal_that_is_watched_from_its_beginning_is_never_in_memory_in_full(list: &LongList) {
    let newest = list.newest();
    let plain = list.home.command("watch --since 0");
    let started = Instant::now();
    let mut watch = plain.limited(&format!("ulimit -v {ADDRESS_SPACE}")).start();
    let mut last = 0;
    for line in watch.take_output().lines() {
        let revision = serde_json::from_str::<HistoryLine>(&line.unwrap()).unwrap().revision;
        assert!(revision == last || revision == last + 1, "{revision} follows {last}");
        last = revision;
        if last == newest {
            break;
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", watch.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    eprintln!("watch --since 0, limited: {} ms, {peak} kB", started.elapsed().as_millis());
    watch.kill();
    assert!(peak < MEMORY, "`watch` took {peak} kB");

    let started = Instant::now();
    let mut watch = list.home.command(&format!("watch --since {}", newest - 1)).start();
    let line = watch.line().unwrap();
    eprintln!("watch --since the newest but one, to its first line: {} ms", started.elapsed().as_millis());
    assert_eq!(serde_json::from_str::<HistoryLine>(&line).unwrap().revision, newest);
    drop(watch.take_output());
    assert_eq!(watch.wait().code(), Some(0));
}

fn a_reader_of_a_long_journal_that_leaves_ends_it_quietly(list: &LongList) {
    for words in ["history", "history --json", "watch --since 0"] {
        let mut child = list.home.command(words).start();
        let mut begun = [0; 100];
        child.take_output().read_exact(&mut begun).unwrap();
        let ran = child.end();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words}");
    }
}
