//! `watch` costs nothing while nothing happens, and tells the whole journal however often it is interrupted.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals watching::`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard::operations::{NewTask, Update};
use taskyard_testkit::{Home, Process, Random, Scale, StrangeFile, finishes, list_builder, wait_for, write_in_place};

/// A running `watch`.
struct Watching {
    child: Process,
    lines: Lines,
}

/// What a `watch` has written. After the process was killed a line, and a revision, may end in the middle.
struct Lines(BufReader<ChildStdout>);

impl Watching {
    fn since(home: &Home, revision: u64) -> Self {
        let mut child = home.command(&format!("watch --since {revision}")).start();
        let lines = Lines(child.take_output());
        Self { child, lines }
    }

    /// Kills it, as nothing can prevent, and returns what it had written.
    fn kill(mut self) -> Lines {
        self.child.kill();
        self.child.wait();
        self.lines
    }
}

impl Iterator for Lines {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let line = line.strip_suffix('\n')?;
        Some(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }
}

/// A program that follows a list as `docs/formats/json-output.md` says.
#[derive(Default)]
struct Follower {
    /// The entries of every revision that came in full.
    entries: Vec<Value>,
    /// Those of the revision that is still coming.
    unfinished: Vec<Value>,
    /// The last revision that came in full.
    complete: u64,
    /// How often a revision was cut in the middle.
    cut: usize,
}

impl Follower {
    fn hear(&mut self, mut line: Value) {
        let line = line.as_object_mut().unwrap();
        assert_eq!(line.shift_remove("schema"), Some(json!("taskyard/1")));
        let last = line.shift_remove("last").unwrap();
        let revision = line["revision"].as_u64().unwrap();
        self.unfinished.push(line.clone().into());
        if last == json!(true) {
            self.entries.append(&mut self.unfinished);
            self.complete = revision;
        }
    }

    fn interrupted(&mut self) {
        self.cut += usize::from(!self.unfinished.is_empty());
        self.unfinished.clear();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn idle_watch_does_no_work_and_ends_with_its_reader() {
    const IDLE: Duration = Duration::from_secs(3);
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create One");
    let Watching { mut child, mut lines } = Watching::since(&home, 0);
    lines.next().unwrap();
    let calm = wait_for_calm(child.id());
    thread::sleep(IDLE);
    let [wakes, ticks] = [0, 1].map(|place| spent(child.id())[place] - calm[place]);
    assert!(wakes < 3, "it woke {wakes} times in {IDLE:?}");
    assert_eq!(ticks, 0, "it worked for {ticks} ticks of the clock");
    home.ask("start 1");
    assert_eq!(lines.next().unwrap()["after"]["status"], "in_progress");
    drop(lines);
    let ended = finishes(move || child.wait());
    assert_eq!(ended.code(), Some(0));
}

/// Waits until a process has not done anything for a moment, nor wants to, and returns what it had spent by then.
fn wait_for_calm(process: u32) -> [u64; 2] {
    let mut before = spent(process);
    wait_for("it to come to rest", || {
        thread::sleep(Duration::from_millis(400));
        let now = spent(process);
        let is_calm = now == before && is_asleep(process);
        before = now;
        is_calm.then_some(now)
    })
}

/// Tells whether every thread of a process waits for something to happen, and none for a processor or a disk.
fn is_asleep(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.flatten().all(|thread| fs::read_to_string(thread.path().join("stat")).unwrap().contains(") S "))
}

/// Returns how often the threads of a process were switched to and from, and the ticks of the clock they worked.
fn spent(process: u32) -> [u64; 2] {
    let mut spent = [0, 0];
    for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let thread = thread.unwrap().path();
        let status = fs::read_to_string(thread.join("status")).unwrap();
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        spent[0] += switches.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum::<u64>();
        let stat = fs::read_to_string(thread.join("stat")).unwrap();
        // After the name in parentheses; the times are the 14th and 15th field of all.
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        spent[1] += fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>();
    }
    spent
}

#[test]
fn a_list_that_is_removed_and_made_anew_is_still_followed() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create One");
    let Watching { mut child, mut lines } = Watching::since(&home, 1);
    for round in 0..3 {
        fs::remove_dir_all(home.list("L")).unwrap();
        let (line, rest) = next_of(lines);
        assert_eq!(line["op"], "removed_elsewhere", "round {round}");
        fs::create_dir_all(home.list("L")).unwrap();
        write_in_place(&home.task_file("1"), &task("1", "Again"));
        let (line, rest) = next_of(rest);
        assert_eq!(line["op"], "created_elsewhere", "round {round}");
        lines = rest;
    }
    child.kill();
}

fn next_of(mut lines: Lines) -> (Value, Lines) {
    finishes(move || (lines.next().unwrap(), lines))
}

#[test]
fn revision_cut_in_the_middle_is_whole_on_resume() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let yard = yard(&home, "ana");
    // More than a pipe holds, so that a reader who stops reading stops the writer in the middle.
    for _ in 0..100 {
        let task = NewTask { subject: "Long".into(), description: "x".repeat(4000), ..NewTask::default() };
        yard.create(task).unwrap().done().unwrap();
    }
    yard.clear().unwrap().done().unwrap();
    let mut follower = Follower { complete: 100, ..Follower::default() };
    let mut watching = Watching::since(&home, 100);
    follower.hear(watching.lines.next().unwrap());
    watching.kill().for_each(|line| follower.hear(line));
    assert_eq!(follower.complete, 100);
    assert!(!follower.unfinished.is_empty());
    follower.interrupted();
    follow_until(&home, &mut follower, 101);
    assert_eq!(follower.entries.len(), 100);
    assert_eq!(follower.entries, home.ask("history --since 100")["entries"].as_array().unwrap()[..]);
}

#[test]
fn watch_resumed_at_random_yields_exactly_the_journal() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let rounds = Scale::from_environment(0.1).of(1000);
    let mut follower = Follower::default();
    let is_over = AtomicBool::new(false);
    let mut resumed = 0;
    thread::scope(|scope| {
        let (home, is_over) = (&home, &is_over);
        let mut writers = Vec::new();
        for seed in 0..2 {
            writers.push(scope.spawn(move || write_by_commands(home, seed, rounds)));
            writers.push(scope.spawn(move || write_by_library(home, seed + 2, rounds * 2)));
        }
        scope.spawn(move || write_from_outside(home, is_over));
        let mut random = Random::new(6);
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let Watching { mut child, lines } = Watching::since(home, follower.complete);
            let lines = scope.spawn(|| lines.collect::<Vec<_>>());
            thread::sleep(Duration::from_millis(random.below(200) as u64));
            child.kill();
            lines.join().unwrap().into_iter().for_each(|line| follower.hear(line));
            follower.interrupted();
            resumed += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let history = home.ask("history");
    let history = history["entries"].as_array().unwrap();
    let newest = history.last().unwrap()["revision"].as_u64().unwrap();
    follow_until(&home, &mut follower, newest);
    assert!(resumed > 3, "the writers were done after {resumed} interruptions");
    assert!(history.iter().any(|entry| entry["actor"] == "elsewhere"), "nothing came from outside");
    let differing = history.iter().zip(&follower.entries).find(|(journaled, told)| journaled != told);
    assert_eq!(differing, None);
    assert_eq!(follower.entries.len(), history.len());
}

/// Follows without interruption until a revision has come in full.
fn follow_until(home: &Home, follower: &mut Follower, revision: u64) {
    let mut watching = Watching::since(home, follower.complete);
    let mut heard = std::mem::take(follower);
    *follower = finishes(move || {
        while heard.complete < revision {
            heard.hear(watching.lines.next().expect("it goes on until it is killed"));
        }
        watching.kill();
        heard
    });
}

fn write_by_commands(home: &Home, seed: u64, rounds: usize) {
    let mut random = Random::new(seed);
    let mut ours: Vec<String> = Vec::new();
    for round in 0..rounds {
        let some = if ours.is_empty() { String::new() } else { random.pick(&ours).clone() };
        let words = match random.below(5) {
            0 if ours.len() > 3 => format!("delete {} {}", ours.swap_remove(0), ours.swap_remove(0)),
            1 if !some.is_empty() => format!("update {some} --subject Round{round}"),
            2 if !some.is_empty() => format!("create Behind --blocked-by {some}"),
            3 if !some.is_empty() => format!("done {some}"),
            _ => "create Free".to_owned(),
        };
        let ran = home.run(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        if words.starts_with("create") {
            ours.push(ran.id());
        }
    }
}

fn write_by_library(home: &Home, seed: u64, rounds: usize) {
    let yard = yard(home, "library");
    let mut random = Random::new(seed);
    let mut ours: Vec<TaskId> = Vec::new();
    for round in 0..rounds {
        match random.below(4) {
            0 if ours.len() > 3 => {
                let going: Vec<TaskId> = ours.drain(..2).collect();
                yard.delete(&going).unwrap().done().unwrap();
            }
            1 if !ours.is_empty() => {
                let update = described(&format!("Round {round}"));
                yard.update(random.pick(&ours), update).unwrap().done().unwrap();
            }
            _ => {
                let blocked_by = ours.last().cloned().into_iter().collect();
                let task = NewTask { subject: format!("Round {round}"), blocked_by, ..NewTask::default() };
                ours.push(yard.create(task).unwrap().done().unwrap().task.id);
            }
        }
    }
}

fn described(description: &str) -> Update {
    let mut update = Update::default();
    update.patch.description = Some(description.to_owned());
    update
}

/// Makes and removes tasks of its own, and changes everybody's, as a client does that takes no locks.
fn write_from_outside(home: &Home, is_over: &AtomicBool) {
    let directory = home.list("L");
    fs::create_dir_all(&directory).unwrap();
    for round in 0_usize.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("outside-{}", round % 7);
        write_in_place(&directory.join(format!("{id}.json")), &task(&id, &format!("Round {round}")));
        if round % 5 == 4 {
            let _ = fs::remove_file(directory.join(format!("outside-{}.json", (round + 3) % 7)));
        }
        let ours = directory.join(format!("{}.json", round % 50));
        let found = fs::read(&ours).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        if let Some(mut task) = found {
            task["metadata"]["round"] = json!(round);
            write_in_place(&ours, &task);
        }
        thread::sleep(Duration::from_millis(7));
    }
}

fn task(id: &str, subject: &str) -> Value {
    serde_json::from_str(&list_builder::file(&format!("{id} pending '{subject}'"))).unwrap()
}

fn yard(home: &Home, agent: &str) -> Yard {
    Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new(agent).unwrap())
}

#[test]
fn strange_file_among_tasks_stops_no_reporting() {
    for kind in StrangeFile::ALL {
        finishes(move || {
            let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
            let first = home.ask("create A")["revision"].as_u64().unwrap();
            let mut watching = Watching::since(&home, first);
            let good = home.path().join("good");
            fs::write(&good, "700").unwrap();
            for name in ["3.json", ".highwatermark", ".lock"] {
                kind.put(&home.list("L").join(name), &good);
            }
            home.ask("create B");
            let told = watching.lines.next().unwrap();
            assert_eq!(told["task"], json!("4"), "{kind:?}: {told}");
            drop(watching.kill());
        });
    }
}
