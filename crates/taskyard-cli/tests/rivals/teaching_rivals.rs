//! A teaching folder and the tutorial's own code at the same tasks: it keeps to no lock, writes in place and never looks again.
//!
//! Full scale (2,000 claims): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals teaching_rivals:: -- --nocapture`.
#![allow(clippy::print_stderr, reason = "how many claims were won by both is what this counts")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::{AgentName, ListId, Op, Rules, TaskId};
use taskyard::operations::{Claim, Claimed, Filter, NewTask, Patch, Update};
use taskyard::store::{HistoryQuery, TeachingOptions, TeachingPaths, open_teaching};
use taskyard::{Outcome, Yard};
use taskyard_testkit::{Home, PATIENCE, Rival, Scale, wait_until};

const OURS: &str = "ours";
const THEIRS: &str = "theirs";
/// How soon after its look a rival writes that we wait for, in seconds.
const WAITED_FOR: f64 = 0.05;

fn folder(home: &Home) -> PathBuf {
    home.path().join(".tasks")
}

fn yard(home: &Home) -> Yard {
    let paths = TeachingPaths::Folder(folder(home));
    let store = open_teaching(TeachingOptions { paths, data: home.path().join("data"), rules: Rules::Strict });
    Yard::new(store, ListId::new("L").unwrap(), AgentName::new(OURS).unwrap())
}

/// Writes a task as the tutorial does, and returns its id.
fn make(home: &Home, number: usize) -> TaskId {
    let id = format!("task_1738950000_{number:04x}");
    write_in_place(&folder(home).join(format!("{id}.json")), &task(&id, "pending", None));
    TaskId::stored(id)
}

fn task(id: &str, status: &str, owner: Option<&str>) -> Value {
    json!({"id": id, "subject": "wanted", "description": "", "status": status, "owner": owner, "blockedBy": []})
}

fn write_in_place(path: &Path, task: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_text_in_place(path, &serde_json::to_string_pretty(task).unwrap());
}

fn write_text_in_place(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn read(home: &Home, id: &TaskId) -> Value {
    serde_json::from_slice(&fs::read(folder(home).join(format!("{id}.json"))).unwrap()).unwrap()
}

fn is_won(outcome: &Outcome<Claimed>) -> bool {
    match outcome {
        Outcome::Done(claimed) => {
            assert_eq!(claimed.task.owner(), Some(OURS));
            true
        }
        Outcome::Refused(refusal) => {
            let theirs = ClaimRefusal::AlreadyClaimed { by: THEIRS.to_owned(), free_at: None };
            assert_eq!(refusal.of_claim(), Some(&theirs));
            false
        }
    }
}

#[test]
fn a_program_with_the_library_and_the_tutorial_never_both_win() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let yard = yard(&home);
    race(&home, Scale::from_environment(0.1).of(1500), 0.0, |id| is_won(&yard.claim(id, &Claim::default()).unwrap()));
}

#[test]
fn one_shot_commands_and_the_tutorial_never_both_win() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    // A command has to be started first.
    race(&home, Scale::from_environment(0.1).of(500), 30_000.0, |id| {
        let ran = home.run(&format!("claim {id} --as {OURS} --store teaching:.tasks --json"));
        let answer = ran.json();
        assert!(ran.code == Some(0) || answer["reason"] == "already_claimed", "{ran:?}");
        ran.code == Some(0)
    });
}

/// Lets the tutorial's code and one of ours claim a fresh task at the same moment, again and again.
///
/// The rival that lost has more of a start the next time, so that the two stay close.
fn race(home: &Home, rounds: usize, head_start: f64, ours: impl Fn(&TaskId) -> bool + Sync) {
    let mut rival = Rival::start_listening_python("teaching.py", &[folder(home).to_str().unwrap(), THEIRS]);
    assert_eq!(rival.line().as_deref(), Some("ready"));
    let (mut start_of_ours, mut step, mut won) = (head_start, 20.0, [0, 0]);
    let (mut last_winner, mut doubles, mut late) = (None, 0, 0);
    for round in 0..rounds {
        let id = make(home, round);
        let together = Barrier::new(2);
        let (we_won, answer) = thread::scope(|scope| {
            let claiming = scope.spawn(|| {
                together.wait();
                delay(-start_of_ours);
                ours(&id)
            });
            together.wait();
            delay(start_of_ours);
            rival.tell(id.as_str());
            (claiming.join().unwrap(), rival.json().expect("the rival lives"))
        });
        let they_won = answer["claimed"] == json!(true);
        let owner = read(home, &id)["owner"].clone();
        match (we_won, they_won) {
            (true, true) => {
                doubles += 1;
                eprintln!("round {round}: {answer}");
                late += usize::from(answer["took"].as_f64().unwrap() >= WAITED_FOR);
            }
            (true, false) => assert_eq!(owner, OURS, "round {round}: {answer}"),
            (false, true) => assert_eq!(owner, THEIRS, "round {round}: {answer}"),
            (false, false) => panic!("round {round}: nobody won: {answer}"),
        }
        won[usize::from(we_won)] += 1;
        let is_again = last_winner.replace(we_won) == Some(we_won);
        step = f64::clamp(if is_again { step * 1.6 } else { step / 2.0 }, 20.0, 40_000.0);
        start_of_ours += if we_won { -step } else { step };
        fs::remove_file(folder(home).join(format!("{id}.json"))).unwrap();
    }
    eprintln!(
        "{rounds} claims, {won:?} won by them and by us, {doubles} by both, {late} of those by a rival that took longer than it is waited for"
    );
    assert_eq!(doubles, late, "the rival was fast enough to be noticed");
    assert!(won.iter().all(|won| *won > rounds / 20), "one side was always first, so nothing was contested: {won:?}");
    assert_eq!(rival.end().code, Some(0));
}

/// Waits until a file is another than it was, or says something else.
fn wait_for(path: &Path, is_there: impl Fn(&fs::Metadata, &[u8]) -> bool) {
    let started = Instant::now();
    while !fs::metadata(path).is_ok_and(|found| is_there(&found, &fs::read(path).unwrap_or_default())) {
        if started.elapsed() > PATIENCE {
            panic!("nothing happened to {}", path.display());
        }
        // What happens next is to happen within microseconds of this, so there is no pause.
        std::hint::spin_loop();
    }
}

fn is_theirs(home: &Home, yard: &Yard, id: &TaskId, outcome: &Outcome<Claimed>) {
    assert!(!is_won(outcome));
    assert_eq!(read(home, id)["owner"], THEIRS);
    let late = yard
        .update(id, Update { patch: Patch { subject: Some("late".into()), ..Patch::default() }, ..Update::default() });
    assert_eq!(late.unwrap().done().unwrap().task.owner(), Some(THEIRS));
    assert!(!is_won(&yard.claim(id, &Claim::default()).unwrap()));
    let ops: Vec<Op> = yard.history(&HistoryQuery::default()).unwrap().into_iter().map(|entry| entry.op).collect();
    assert!(ops.contains(&Op::Claim) && ops.contains(&Op::ChangedElsewhere), "{ops:?}");
}

#[test]
fn rival_that_looked_before_us_and_overwrites_has_the_task() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let (yard, id) = (yard(&home), make(&home, 1));
    let path = folder(&home).join(format!("{id}.json"));
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&path, |_, bytes| String::from_utf8_lossy(bytes).contains("in_progress"));
            write_in_place(&path, &task(id.as_str(), "in_progress", Some(THEIRS)));
        });
        yard.claim(&id, &Claim::default()).unwrap()
    });
    is_theirs(&home, &yard, &id, &outcome);
}

#[test]
fn a_rival_that_opened_the_file_that_we_replaced_has_the_task() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let (yard, id) = (yard(&home), make(&home, 1));
    let path = folder(&home).join(format!("{id}.json"));
    let inode = fs::metadata(&path).unwrap().ino();
    let mut opened = OpenOptions::new().write(true).open(&path).unwrap();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&path, |found, _| found.ino() != inode);
            opened.set_len(0).unwrap();
            let claim = task(id.as_str(), "in_progress", Some(THEIRS));
            opened.write_all(serde_json::to_string_pretty(&claim).unwrap().as_bytes()).unwrap();
        });
        yard.claim(&id, &Claim::default()).unwrap()
    });
    is_theirs(&home, &yard, &id, &outcome);
}

#[test]
fn later_chapters_find_their_key_in_every_file() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let text = json!({
        "id": "task_1_0001", "subject": "API", "before": 1, "description": "", "status": "pending", "owner": null,
        "blockedBy": ["task_9_0009", "task_1_0002"], "worktree": "auth", "more": {"b": [1], "a": null},
    });
    let path = folder(&home).join("task_1_0001.json");
    write_in_place(&path, &text);
    write_in_place(&folder(&home).join("task_1_0002.json"), &task("task_1_0002", "completed", None));
    let ask = |words: &str| drop(home.ask(&format!("{words} --store teaching:.tasks --as {OURS}")));
    let expect = |changes: Value| {
        let mut expected = text.clone();
        for (key, value) in changes.as_object().unwrap() {
            expected[key] = value.clone();
        }
        let found = fs::read_to_string(&path).unwrap();
        assert_eq!(found, serde_json::to_string_pretty(&expected).unwrap());
    };
    for (words, changes) in [
        ("update task_1_0001 --subject Renamed", json!({"subject": "Renamed"})),
        ("update task_1_0001 --priority high", json!({"subject": "Renamed"})),
        ("undo", json!({"subject": "Renamed"})),
        ("undo", json!({})),
        ("create Third", json!({})),
        ("undepend task_1_0001 --on task_9_0009", json!({"blockedBy": ["task_1_0002"]})),
        ("claim task_1_0001", json!({"blockedBy": ["task_1_0002"], "status": "in_progress", "owner": OURS})),
        ("release task_1_0001", json!({"blockedBy": ["task_1_0002"]})),
        ("done task_1_0001", json!({"blockedBy": ["task_1_0002"], "status": "completed"})),
        ("reopen task_1_0001", json!({"blockedBy": ["task_1_0002"]})),
        ("delete task_1_0002", json!({"blockedBy": []})),
        ("undo", json!({"blockedBy": ["task_1_0002"]})),
    ] {
        ask(words);
        expect(changes);
    }
    ask("delete task_1_0001");
    assert!(!path.exists());
    ask("undo");
    expect(json!({"blockedBy": ["task_1_0002"]}));
    assert!(!folder(&home).join(".taskyard.json").exists(), "nothing had to be kept beside");
}

#[test]
fn what_a_task_waits_for_keeps_its_order_and_new_ones_come_last() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let names = ["d", "b", "c", "a"].map(|name| format!("task_{name}"));
    for name in &names {
        write_in_place(&folder(&home).join(format!("{name}.json")), &task(name, "pending", None));
    }
    let mut first = task("task_1_0001", "pending", None);
    first["blockedBy"] = json!(["task_gone", "task_d", "task_b"]);
    write_in_place(&folder(&home).join("task_1_0001.json"), &first);
    let order = || read(&home, &TaskId::stored("task_1_0001"))["blockedBy"].clone();
    for (words, expected) in [
        ("update task_1_0001 --subject x", json!(["task_gone", "task_d", "task_b"])),
        ("depend task_1_0001 --on task_c,task_a", json!(["task_gone", "task_d", "task_b", "task_c", "task_a"])),
        ("undepend task_1_0001 --on task_d", json!(["task_gone", "task_b", "task_c", "task_a"])),
        ("depend task_1_0001 --on task_d", json!(["task_gone", "task_b", "task_c", "task_a", "task_d"])),
        ("done task_b", json!(["task_gone", "task_b", "task_c", "task_a", "task_d"])),
        ("delete task_c", json!(["task_gone", "task_b", "task_a", "task_d"])),
    ] {
        home.ask(&format!("{words} --store teaching:.tasks"));
        assert_eq!(order(), expected, "{words}");
    }
    let made = home.ask("create Last --blocked-by task_d,task_a,task_b --store teaching:.tasks");
    let id = TaskId::stored(made["task"]["id"].as_str().unwrap());
    assert_eq!(read(&home, &id)["blockedBy"], json!(["task_d", "task_a", "task_b"]));
}

/// Lets so many microseconds go by, by turning: a sleep is too vague for this.
fn delay(microseconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(microseconds.max(0.0) / 1e6);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Waits until no later change of a file in the folder could have the time of the last one.
fn wait_until_old(home: &Home) {
    wait_until("the files to be old", || {
        let times =
            fs::read_dir(folder(home)).unwrap().map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap());
        times.max().unwrap().elapsed().is_ok_and(|age| age > Duration::from_millis(100))
    });
}

#[test]
fn create_looks_at_each_file_twice_at_most() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let count = 40;
    (0..count).for_each(|number| drop(make(&home, number)));
    let create = || home.command("create new --store teaching:.tasks");
    wait_until_old(&home);
    // It reads them all.
    assert_eq!(create().run().code, Some(0));
    wait_until_old(&home);
    let trace = home.path().join("trace");
    let told = ["-f", "-qq", "-y", "-o", trace.to_str().unwrap()];
    assert_eq!(create().started_by("strace", &told).run().code, Some(0));
    let calls = fs::read_to_string(trace).unwrap();
    let about_them = calls.lines().filter(|line| line.contains("task_1738950000_")).count();
    assert!((count..=2 * count).contains(&about_them), "{about_them} calls for {count} files");
}

#[test]
fn change_of_the_same_size_and_time_is_seen() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let paths = [0, 1, 2].map(|number| folder(&home).join(format!("{}.json", make(&home, number))));
    wait_until_old(&home);
    let new = || NewTask { subject: "new".into(), ..NewTask::default() };
    yard(&home).create(new()).unwrap().done().unwrap();
    let before = fs::metadata(&paths[1]).unwrap();
    let text = fs::read_to_string(&paths[1]).unwrap().replace("wanted", "wasted");
    write_text_in_place(&paths[1], &text);
    OpenOptions::new().append(true).open(&paths[1]).unwrap().set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&paths[1]).unwrap();
    assert_eq!((before.ino(), before.len(), before.mtime_nsec()), (after.ino(), after.len(), after.mtime_nsec()));
    // Another process, which knows the files only by what was recorded.
    let yard = yard(&home);
    yard.create(new()).unwrap().done().unwrap();
    let subjects: Vec<String> =
        yard.list(&Filter::default()).unwrap().tasks.into_iter().map(|task| task.subject).collect();
    assert_eq!(subjects, ["wanted", "wasted", "wanted", "new", "new"]);
    let changed = HistoryQuery { ops: vec![Op::ChangedElsewhere], ..HistoryQuery::default() };
    assert_eq!(yard.history(&changed).unwrap().len(), 1);
}
