//! Each task goes to exactly one of all agents that want it, and every loser is told the true reason.
//!
//! Full scale, 100,000 attempts on each store: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-testkit --test kit one_winner::`.
//! A million: `TASKYARD_TEST_SCALE=10 cargo test --release -p taskyard-testkit --test kit one_winner:: -- --nocapture`.
#![allow(clippy::print_stderr, reason = "the rate is what one wants to know of a long run")]

use std::process::Stdio;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::core::{AgentName, ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions, HistoryQuery, MemoryStore};
use taskyard::{Store, Yard};
use taskyard_testkit::contest::{Attempt, Contestant, judge, prepare};
use taskyard_testkit::{Process, Program, Scale};

const ATTEMPTS: usize = 100_000;
const PROCESSES: usize = 32;
const THREADS: usize = 256;

#[test]
fn of_32_processes_on_the_file_store_one_wins_each_task() {
    let folder = tempfile::tempdir().unwrap();
    let (tasks, data) = (folder.path().join("tasks"), folder.path().join("data"));
    let options = FileStoreOptions { tasks: tasks.clone(), data: Some(data.clone()), rules: Rules::Strict };
    let yard = contested(Arc::new(FileStore::open(options)), PROCESSES);
    let attempts = Scale::from_environment(0.02).of(ATTEMPTS).div_ceil(PROCESSES);
    let mut contestants: Vec<Claimer> = (0..PROCESSES)
        .map(|number| {
            let mut command = Program::new(env!("CARGO_BIN_EXE_claimer"));
            command.arg(&tasks).arg(&data).arg(yard.list_id().as_str());
            command.arg(number.to_string()).arg(attempts.to_string());
            Claimer::start(command)
        })
        .collect();
    contestants.iter_mut().for_each(Claimer::wait_until_ready);
    let started = Instant::now();
    contestants.iter_mut().for_each(Claimer::let_go);
    let readers: Vec<_> = contestants.into_iter().map(|claimer| thread::spawn(|| claimer.attempts())).collect();
    let made = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
    one_won_each(&yard, made, PROCESSES * attempts, started.elapsed());
}

#[test]
fn of_256_threads_on_the_memory_store_one_wins_each_task() {
    let yard = contested(Arc::new(MemoryStore::new(Rules::Strict)), THREADS);
    let attempts = Scale::from_environment(0.03).of(ATTEMPTS).div_ceil(THREADS);
    let together = Barrier::new(THREADS);
    let started = Instant::now();
    let compete = &|number| {
        let contestant = Contestant::new(&yard, number);
        together.wait();
        contestant.compete(attempts)
    };
    let made = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || compete(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    one_won_each(&yard, made, THREADS * attempts, started.elapsed());
}

/// Returns a yard with fewer tasks than there are contestants.
fn contested(store: Arc<dyn Store>, contestants: usize) -> Yard {
    let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("contest").unwrap());
    prepare(&yard, contestants * 3 / 4);
    yard
}

fn one_won_each(yard: &Yard, mut made: Vec<Attempt>, attempts: usize, elapsed: Duration) {
    // Whether the list was ever empty while they competed is a matter of luck; at the end it is.
    let rest = Contestant::new(yard, THREADS).take_the_rest();
    let expected = attempts + rest.len();
    made.extend(rest);
    let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    let verdict = judge(made, journal);
    let rate = attempts as f64 / elapsed.as_secs_f64();
    eprintln!("{rate:.0} attempts per second: {verdict:?}");
    assert_eq!(verdict.attempts(), expected);
    assert!(verdict.won > expected / 50, "hardly anything was won: {verdict:?}");
    assert!(verdict.won < expected / 2, "hardly anything was contested: {verdict:?}");
    let reasons = ["already_claimed", "already_resolved", "task_not_found", "blocked", "agent_busy", "nothing_ready"];
    for reason in reasons.into_iter().chain(["not_allowed"]) {
        assert!(verdict.lost.contains_key(reason), "nobody was told {reason}, so nothing is known of it: {verdict:?}");
    }
}

/// A process that wants tasks.
struct Claimer {
    process: Process,
}

impl Claimer {
    fn start(mut command: Program) -> Self {
        Self { process: command.stdin(Stdio::piped()).start() }
    }

    fn wait_until_ready(&mut self) {
        assert_eq!(self.process.line().as_deref(), Some("ready"));
    }

    fn let_go(&mut self) {
        self.process.tell("go");
        self.process.close_input();
    }

    fn attempts(self) -> Vec<Attempt> {
        let ran = self.process.end();
        assert_eq!(ran.code, Some(0), "a claimer failed; its complaint is above");
        ran.stdout.lines().map(|line| Attempt::from_json(&serde_json::from_str(line).unwrap())).collect()
    }
}
