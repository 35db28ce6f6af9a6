//! Commands killed at random moments under load: what was acknowledged is there, what was not is there in full or not at all.
//!
//! Full scale (500 kills): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes random_kills::`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use taskyard_testkit::{Home, Process, Ran, Random, Scale, Tasks, is_consistent_journal, leftovers, one_sided_edges};

const WORKERS: u64 = 5;

#[test]
fn no_acknowledged_change_is_missing_after_random_kills() {
    let wanted = Scale::from_environment(0.08).of(500);
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create First");
    let kills = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let works: Vec<Work<'_>> = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let shown = home.ask("list --all");
                let tasks = shown["tasks"].as_array().unwrap().iter();
                let tasks = tasks.map(|task| (task["id"].as_str().unwrap().to_owned(), task.clone())).collect();
                assert_eq!(one_sided_edges(&tasks), Vec::<String>::new(), "a reader saw half a change");
            }
        });
        let workers: Vec<_> = (0..WORKERS)
            .map(|name| {
                let (home, kills) = (&home, &kills);
                scope.spawn(move || {
                    let mut work = Work::new(home, name);
                    while kills.load(Ordering::Relaxed) < wanted {
                        work.step(kills);
                    }
                    work
                })
            })
            .collect();
        let works: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        works.into_iter().map(Result::unwrap).collect()
    });
    home.ask("list");
    home.ask("create Last");
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    let present = home.present();
    assert_eq!(one_sided_edges(&present), Vec::<String>::new());
    is_consistent_journal(&home.ask("history"), &present).unwrap();
    for work in works {
        work.check(&present);
    }
}

/// What one worker did to tasks of its own, and what may therefore be in them.
struct Work<'a> {
    home: &'a Home,
    name: u64,
    random: Random,
    count: usize,
    tasks: BTreeMap<String, Expected>,
    /// Edges that were acknowledged: from the task that waits to the one it waits for.
    edges: BTreeSet<(String, String)>,
}

/// What a task may be. After a kill it is the one or the other, until the next acknowledged change.
#[derive(Clone, Debug)]
struct Expected {
    subjects: Vec<String>,
    may_be_gone: bool,
    must_be_gone: bool,
}

impl<'a> Work<'a> {
    fn new(home: &'a Home, name: u64) -> Self {
        let random = Random::new(name + 7);
        Self { home, name, random, count: 0, tasks: BTreeMap::new(), edges: BTreeSet::new() }
    }

    fn step(&mut self, kills: &AtomicUsize) {
        self.count += 1;
        let subject = format!("w{}n{}", self.name, self.count);
        let living: Vec<String> =
            self.tasks.iter().filter(|(_, task)| !task.must_be_gone).map(|(id, _)| id.clone()).collect();
        if living.len() < 4 {
            return self.create(&subject, kills);
        }
        let (one, two) = (self.random.pick(&living).clone(), self.random.pick(&living).clone());
        match self.random.below(10) {
            0..3 => self.create(&subject, kills),
            3..6 => self.update(&one, &subject, kills),
            6 | 7 if one != two => self.depend(&one, &two, kills),
            _ => self.delete(&one, kills),
        }
    }

    fn create(&mut self, subject: &str, kills: &AtomicUsize) {
        let ran = self.run(&format!("create {subject} --json"), kills);
        if ran.code == Some(0) {
            let known = Expected { subjects: vec![subject.to_owned()], may_be_gone: false, must_be_gone: false };
            assert!(self.tasks.insert(ran.id(), known).is_none(), "a number was given out twice: {ran:?}");
        } else {
            assert!(ran.was_killed(), "{ran:?}");
        }
    }

    fn update(&mut self, id: &str, subject: &str, kills: &AtomicUsize) {
        let ran = self.run(&format!("update {id} --subject {subject} --json"), kills);
        let task = self.tasks.get_mut(id).unwrap();
        match ran.code {
            Some(0) => {
                *task = Expected { subjects: vec![subject.to_owned()], may_be_gone: false, must_be_gone: false };
            }
            Some(4) if task.may_be_gone => task.must_be_gone = true,
            _ if ran.was_killed() => task.subjects.push(subject.to_owned()),
            _ => panic!("{id}, {task:?}: {ran:?}"),
        }
    }

    fn depend(&mut self, id: &str, on: &str, kills: &AtomicUsize) {
        let ran = self.run(&format!("depend {id} --on {on} --json"), kills);
        let may_be_gone = self.tasks[id].may_be_gone || self.tasks[on].may_be_gone;
        match ran.code {
            Some(0) => drop(self.edges.insert((id.to_owned(), on.to_owned()))),
            // A cycle, or a blocker that is gone.
            Some(3) => {}
            Some(4) if may_be_gone => {}
            _ => assert!(ran.was_killed(), "{ran:?}"),
        }
    }

    fn delete(&mut self, id: &str, kills: &AtomicUsize) {
        let ran = self.run(&format!("delete {id} --json"), kills);
        let task = self.tasks.get_mut(id).unwrap();
        match ran.code {
            Some(0) => task.must_be_gone = true,
            Some(4) if task.may_be_gone => task.must_be_gone = true,
            _ if ran.was_killed() => task.may_be_gone = true,
            _ => panic!("{id}, {task:?}: {ran:?}"),
        }
    }

    /// Runs a command; some are killed at a random moment of their lives.
    fn run(&mut self, words: &str, kills: &AtomicUsize) -> Ran {
        let mut child: Process = self.home.command(words).start();
        if self.random.below(3) == 0 {
            let longest = *self.random.pick(&[1_000, 5_000, 5_000, 20_000, 60_000]);
            thread::sleep(Duration::from_micros(self.random.below(longest) as u64));
            child.kill();
        }
        let ran = child.end();
        if ran.was_killed() {
            kills.fetch_add(1, Ordering::Relaxed);
        }
        ran
    }

    fn check(&self, present: &Tasks) {
        for (id, expected) in &self.tasks {
            match present.get(id) {
                None => assert!(expected.may_be_gone || expected.must_be_gone, "{id} is missing, it was {expected:?}"),
                Some(task) => {
                    assert!(!expected.must_be_gone, "{id} is back: {task}");
                    let subject = task["subject"].as_str().unwrap();
                    assert!(expected.subjects.iter().any(|one| one == subject), "{id} is {task}, not {expected:?}");
                }
            }
        }
        for (id, on) in &self.edges {
            if let (Some(task), Some(_)) = (present.get(id), present.get(on)) {
                assert!(task["blockedBy"].as_array().unwrap().contains(&json!(on)), "{id} no longer waits for {on}");
            }
        }
    }
}
