//! Many jobs at once.
#![allow(clippy::print_stderr, reason = "times and memory are what one wants to know of a thousand jobs")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use taskyard_testkit::{Scale, StrangeFile};

use crate::jobs::server::Server;
use crate::jobs::site::Site;

/// Tests that start many jobs do it one after the other.
static TURN: Mutex<()> = Mutex::new(());

/// Jobs that wait without doing anything until all of them may go on.
struct Gate {
    site: Site,
    open: File,
    _turn: MutexGuard<'static, ()>,
}

impl Gate {
    fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let site = Site::new();
        StrangeFile::Pipe.put(&site.path("gate"), &site.path("gate"));
        // A job that reads from it sleeps as long as this is open.
        let open = File::options().read(true).write(true).open(site.path("gate")).unwrap();
        Self { site, open, _turn: turn }
    }

    /// Returns the line of a job that says something once it may go on.
    fn line(word: usize) -> String {
        format!("read x < gate; echo {word}")
    }

    /// Checks that so many run, lets them go on, and checks that all of them end and have said what they were to say.
    fn open(self, said: &BTreeMap<String, usize>) {
        let Self { site, open, _turn } = self;
        assert_eq!(site.ask("job list --running")["jobs"].as_array().unwrap().len(), said.len());
        tell_memory(&site);
        let opened = Instant::now();
        drop(open);
        for (id, word) in said {
            let job = site.ended(id);
            assert_eq!(job["status"], "completed", "{job}");
            assert_eq!(site.file(&job), format!("{word}\n\n[exited with code 0]\n").into_bytes());
        }
        eprintln!("{} jobs have ended after {:?}", said.len(), opened.elapsed());
        assert_eq!(site.processes(), [0; 0]);
    }
}

#[test]
fn many_jobs_at_once_all_end_and_all_say_what_they_have_to_say() {
    let gate = Gate::new();
    let started = Instant::now();
    let start = |word| (gate.site.start(&format!("--name n{word}"), &Gate::line(word)), word);
    let said: BTreeMap<String, usize> = (0..Scale::from_environment(0.04).of(1000)).map(start).collect();
    eprintln!("{} commands have started a job each after {:?}", said.len(), started.elapsed());
    gate.open(&said);
}

#[test]
fn a_process_that_starts_many_jobs_needs_no_more_memory_for_it() {
    let gate = Gate::new();
    let count = Scale::from_environment(0.06).of(1000);
    let mut server = Server::start(&gate.site);
    let (mut said, mut memory) = (BTreeMap::new(), Vec::new());
    let started = Instant::now();
    for word in 0..count {
        said.insert(id_in(&server.run(&Gate::line(word))), word);
        if [count / 10, count / 2, count].contains(&(word + 1)) {
            memory.push(server.memory());
            eprintln!("{} jobs: the server has {} kB, after {:?}", word + 1, server.memory(), started.elapsed());
        }
    }
    let (early, late) = (memory[0], memory[2]);
    assert!(late < early * 5 / 4 + 2048, "{memory:?} kB after a tenth, half and all of {count}");
    gate.open(&said);
}

/// Returns the id in the answer to a call that started a job.
fn id_in(answer: &str) -> String {
    let (_, rest) = answer.split_once("ID: ").unwrap();
    rest.split('.').next().unwrap().to_owned()
}

/// Tells how much memory the supervisors have, each its share of what they have in common, and checks that it is little.
fn tell_memory(site: &Site) {
    let share = |job: &serde_json::Value| -> u64 {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", job["supervisor"])).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    };
    let shares: Vec<u64> = site.jobs().iter().map(share).collect();
    let (all, most) = (shares.iter().sum::<u64>(), shares.iter().max().unwrap());
    eprintln!("{} supervisors have {all} kB together, {most} kB at most", shares.len());
    assert!(*most < 20 << 10, "a supervisor has {most} kB");
}
