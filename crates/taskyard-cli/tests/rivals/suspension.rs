//! A command that works long keeps its lock; one that is suspended past the life of its lock loses it, does no harm when it
//! wakes, and its change is there exactly once.
//!
//! A lock lives for ten seconds, so these tests take their time at every scale; they wait side by side. Every step of a delete
//! and a create: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals suspension::`. Unset, the steps that differ in kind.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard_testkit::{
    Home, Rival, Scale, Suspended, Tasks, is_consistent_journal, leftovers, read_tasks, wait_until,
};

/// How long a lock lives that no process refreshes.
const LIFE: Duration = Duration::from_secs(10);
/// The longest that one of ours waits: the life of a lock, the second look at it, and as much again.
const LONGEST_WAIT: Duration = Duration::from_secs(35);

/// Steps at which SQLite's own write lock is held.
const INSIDE_THE_JOURNAL: [&str; 3] = ["journal: open", "task lock: taken", "journal: looked again"];

const STEPS: [&str; 16] = [
    "turn: entered",
    "turn: taken",
    "temporary files: written",
    "locks: ready",
    "journal: before",
    INSIDE_THE_JOURNAL[0],
    INSIDE_THE_JOURNAL[1],
    INSIDE_THE_JOURNAL[2],
    "journal: written",
    "journal: flushed",
    "list lock: taken",
    "file: done",
    "list lock: given back",
    "applied: before",
    "applied: marked",
    "turn: before giving back",
];

#[derive(Clone, Copy, Debug)]
enum Who {
    Node,
    Ours,
}

#[test]
fn a_command_that_works_for_twenty_seconds_keeps_its_locks() {
    thread::scope(|scope| {
        for (step, file, command) in
            [("list lock: taken", ".lock", "create Long"), ("task lock: taken", "1.json", "update 1 --subject Long")]
        {
            scope.spawn(move || keeps_its_lock(step, file, command));
        }
    });
}

fn keeps_its_lock(step: &str, file: &str, command: &str) {
    let home = home_with_dependents(2);
    let lock = home.list("L").join(format!("{file}.lock"));
    let go = home.path().join("go");
    let child = home.start_with(&format!("{step}=until:{}", go.display()), command);
    let started = Instant::now();
    wait_until("the lock", || lock.exists());
    let inode = fs::metadata(&lock).unwrap().ino();
    while started.elapsed() < 2 * LIFE {
        // Takes the client's 2.7 s to give up, each time.
        let path = home.list("L").join(file);
        let mut rival = Rival::start("lock.js", &[path.to_str().unwrap()]);
        assert_eq!(rival.json().unwrap()["acquired"], json!(false));
        let now = fs::metadata(&lock).unwrap();
        assert_eq!(now.ino(), inode, "the lock changed hands");
        let age = SystemTime::now().duration_since(now.modified().unwrap()).unwrap_or_default();
        assert!(age < LIFE, "not refreshed for {age:?}");
    }
    fs::write(&go, "").unwrap();
    let ran = child.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    only(&home.present(), "Long");
    is_in_order(&home, "L");
}

#[test]
fn only_first_writer_waits_long_behind_suspended_command() {
    side_by_side(vec!["turn: entered", "turn: taken", "journal: flushed"], |step| {
        let home = home_with_dependents(2);
        let sleeper = Suspended::at(&home, step, "delete 1");
        thread::scope(|scope| {
            // Of several that wait at once only one goes past at a time.
            for _ in 0..4 {
                scope.spawn(|| home.ask("create First"));
            }
        });
        let (ran, took) = home.run_timed("create Second");
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        assert!(took.waited < LIFE, "{step}: {took:?}");
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        home.ask("create Third");
        let tasks = home.present();
        assert_eq!(tasks.len(), 2 + 4 + 1 + 1, "{step}: {tasks:?}");
        is_in_order(&home, "L");
    });
}

#[test]
fn suspended_command_loses_lock_and_change_happens_once() {
    let is_full = Scale::from_environment(0.5).is_full();
    let mut cases = Vec::new();
    for who in [Who::Node, Who::Ours] {
        // None of ours goes past one that is stopped within a transaction of the journal; see below.
        let can_be_overtaken = |step: &&str| matches!(who, Who::Node) || !INSIDE_THE_JOURNAL.contains(step);
        for step in STEPS.into_iter().filter(can_be_overtaken) {
            cases.push((who, step.to_owned(), "delete 1"));
            if is_full || step.starts_with("journal") || step.starts_with("temporary") {
                cases.push((who, step.to_owned(), "create Sleeper --blocks 2"));
            }
        }
        let between = if is_full { 2..=11 } else { 4..=5 };
        cases.extend(between.map(|count| (who, format!("file: done*{count}"), "delete 1")));
    }
    side_by_side(cases, |(who, step, command)| {
        let home = home_with_dependents(10);
        let sleeper = Suspended::at(&home, &step, command);
        let place = format!("`{command}` at `{step}`, overtaken by {who:?}");
        let id = overtake(&home, who, "L", &place);
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{place}: {ran:?}");
        let tasks = home.present();
        assert_eq!(tasks[&id]["subject"], json!("Rival"), "{place}");
        match command {
            "delete 1" => {
                assert_eq!(tasks.len(), 11, "{place}: {tasks:?}");
                assert!(!tasks.contains_key("1"), "{place}");
                assert!(tasks.values().all(|task| task["blockedBy"] == json!([])), "{place}: {tasks:?}");
            }
            _ => {
                assert_eq!(tasks.len(), 13, "{place}: {tasks:?}");
                let sleeper = only(&tasks, "Sleeper");
                assert_eq!(tasks[&sleeper]["blocks"], json!(["2"]), "{place}");
                assert_eq!(tasks["2"]["blockedBy"], json!(["1", sleeper]), "{place}");
            }
        }
        is_in_order(&home, "L");
    });
}

#[test]
fn suspended_command_with_turn_taken_loses_nothing() {
    let steps = ["turn: taken", "temporary files: written", "journal: before", "journal: written"];
    side_by_side(steps.to_vec(), |step| {
        let home = home_with_dependents(2);
        let sleeper = Suspended::at(&home, step, "create Sleeper --blocks 2,3 --json");
        // It takes the turn, clears away what it finds, and commits nothing.
        let refused = home.run("delete 99");
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        let tasks = home.present();
        assert_eq!(ran.id(), only(&tasks, "Sleeper"), "{step}");
        for dependent in ["2", "3"] {
            assert_eq!(tasks[dependent]["blockedBy"], json!(["1", ran.id()]), "{step}: {tasks:?}");
        }
        is_in_order(&home, "L");
    });
}

#[test]
fn command_suspended_in_journal_transaction_is_named() {
    side_by_side(vec!["delete 1", "create Sleeper --blocks 2"], |command| {
        let home = home_with_dependents(2);
        let sleeper = Suspended::at(&home, INSIDE_THE_JOURNAL[0], command);
        let activity = sleeper.activity();
        let (ran, took) = home.run_timed("create Rival --json");
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["code"]), (Some(5), &json!("locked")), "`{command}`: {ran:?}");
        assert_eq!(error["process"], sleeper.process(), "{ran:?}");
        assert!(error["message"].as_str().unwrap().contains(&format!("process {}", sleeper.process())), "{ran:?}");
        let waited = Duration::from_millis(error["waitedMs"].as_u64().unwrap());
        assert!(waited >= Duration::from_secs(12) && waited <= took.elapsed, "{took:?}: {ran:?}");
        assert!(took.waited < LONGEST_WAIT, "{took:?}");
        // No reader is in a writer's way.
        assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 3);
        assert_eq!(sleeper.activity(), activity, "`{command}` ran, or was sent a signal");
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "`{command}`: {ran:?}");
        home.ask("create Next");
        let tasks = home.present();
        let subjects: Vec<&Value> = tasks.values().map(|task| &task["subject"]).collect();
        assert_eq!(subjects.len(), if command == "delete 1" { 3 } else { 5 }, "{tasks:?}");
        assert!(!subjects.contains(&&json!("Rival")) && subjects.contains(&&json!("Next")), "{tasks:?}");
        match command {
            "delete 1" => assert!(!tasks.contains_key("1"), "{tasks:?}"),
            _ => assert_eq!(tasks["2"]["blockedBy"], json!(["1", only(&tasks, "Sleeper")]), "{tasks:?}"),
        }
        is_in_order(&home, "L");
    });
}

#[test]
fn program_locking_another_dialect_is_named() {
    let stores = vec![("document:tasks.json", "tasks.json"), ("teaching:folder", "folder")];
    side_by_side(stores, |(store, place)| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        assert_eq!(home.run(&format!("create One --store {store}")).code, Some(0));
        let rival = File::open(home.path().join(place)).unwrap();
        flock(&rival, FlockOperation::LockExclusive).unwrap();
        let ran = home.run(&format!("create Two --store {store} --json"));
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["code"]), (Some(5), &json!("locked")), "{ran:?}");
        assert_eq!(error["process"], std::process::id(), "{ran:?}");
        drop(rival);
        let sleeper = Suspended::at(&home, "journal: flushed", &format!("create Sleeper --store {store}"));
        let ran = home.run(&format!("create Two --store {store} --json"));
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["code"]), (Some(5), &json!("locked")), "{ran:?}");
        assert_eq!(error["process"], sleeper.process(), "{ran:?}");
        assert!(error["message"].as_str().unwrap().contains(&format!("process {}", sleeper.process())), "{ran:?}");
        assert_eq!(sleeper.go_on().code, Some(0));
        assert_eq!(home.run(&format!("create Two --store {store}")).code, Some(0));
        let listed = home.ask(&format!("list --store {store}"));
        assert_eq!(listed["tasks"].as_array().unwrap().len(), 3, "{listed}");
    });
}

#[test]
fn a_suspended_create_tells_the_number_it_ended_up_with() {
    side_by_side(vec!["journal: written", "journal: flushed", "file: before"], |step| {
        let home = home_with_dependents(1);
        let sleeper = Suspended::at(&home, step, "create Sleeper --json");
        // The client knows nothing of our journal: it takes the number that is written there.
        let id = overtake(&home, Who::Node, "L", step);
        assert_eq!(id, "3");
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.id(), only(&home.present(), "Sleeper"));
        assert_ne!(ran.id(), id);
        is_in_order(&home, "L");
    });
}

#[test]
fn a_suspended_merge_happens_once() {
    let mut cases = Vec::new();
    for step in ["temporary files: written*2", "move: noted", "move: exists", "move: followed", "file: done*2"] {
        for overtaken in [&["L"][..], &["M"], &["L", "M"]] {
            cases.extend([(step, Who::Node, overtaken), (step, Who::Ours, overtaken)]);
        }
    }
    side_by_side(cases, |(step, who, overtaken)| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        for command in ["create A", "create B --blocked-by 1", "create C --blocked-by 2", "create D --list M"] {
            home.ask(command);
        }
        let place = format!("merge at `{step}`, overtaken by {who:?} on {overtaken:?}");
        let sleeper = Suspended::at(&home, step, "merge L M --json");
        thread::scope(|scope| {
            for list in overtaken {
                // Two of them, so that more than one number may be taken.
                scope.spawn(|| {
                    overtake(&home, who, list, &place);
                    overtake(&home, who, list, &place);
                });
            }
        });
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{place}: {ran:?}");
        let (left, came) = (read_tasks(&home.list("L")), read_tasks(&home.list("M")));
        let [a, b, c] = ["A", "B", "C"].map(|subject| only(&came, subject));
        assert_eq!(came[&a]["blocks"], json!([b]), "{place}: {came:?}");
        assert_eq!(came[&b]["blockedBy"], json!([a]), "{place}");
        assert_eq!(came[&b]["blocks"], json!([c]), "{place}");
        assert_eq!(came[&c]["blockedBy"], json!([b]), "{place}");
        let of_rival = |tasks: &Tasks| tasks.values().filter(|task| task["subject"] == json!("Rival")).count();
        let both: usize = of_rival(&left) + of_rival(&came);
        assert_eq!(both, 2 * overtaken.len(), "{place}: {left:?} {came:?}");
        // What a rival made in the list in time may have moved along; nothing else stays.
        assert_eq!(left.len(), of_rival(&left), "{place}: {left:?}");
        assert_eq!(came.len(), 4 + of_rival(&came), "{place}: {came:?}");
        let mapped = ran.json()["mapping"].clone();
        assert_eq!((&mapped["1"], &mapped["2"], &mapped["3"]), (&json!(a), &json!(b), &json!(c)), "{place}");
        is_in_order(&home, "L");
        is_in_order(&home, "M");
    });
}

#[test]
fn a_command_that_wakes_leaves_the_lock_of_a_rival_alone() {
    side_by_side(vec!["journal: before", "journal: flushed", "file: done", "applied: marked"], |step| {
        let home = home_with_dependents(3);
        let lock = home.list("L").join(".lock.lock");
        let sleeper = Suspended::at(&home, step, "delete 1");
        let mut rival = patient(
            &format!(
                "const release = await lock(); console.log('held'); await new Promise((done) => setTimeout(done, 4000)); \
             console.log(require('fs').statSync({}).ino); await release();",
                quoted(&lock)
            ),
            &home.list("L"),
        );
        assert_eq!(rival.line().as_deref(), Some("held"));
        let inode = fs::metadata(&lock).unwrap().ino();
        sleeper.wake();
        assert_eq!(rival.line(), Some(inode.to_string()), "{step}: the lock changed hands");
        assert_eq!(rival.end().code, Some(0));
        let ran = sleeper.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(home.present().len(), 3);
        is_in_order(&home, "L");
    });
}

#[test]
fn a_command_that_is_told_to_end_leaves_no_lock() {
    side_by_side(vec!["list lock: taken", "task lock: taken*3", "journal: flushed", "file: done*2"], |step| {
        let home = home_with_dependents(3);
        let sleeper = Suspended::at(&home, step, "delete 1");
        sleeper.tell_to_end();
        let ran = sleeper.go_on();
        let locks = leftovers(&home.list("L"))
            .into_iter()
            .filter(|name| name.ends_with("lock.lock") || name.ends_with("json.lock"));
        assert_eq!(locks.collect::<Vec<_>>(), Vec::<String>::new(), "{step}: {ran:?}");
        let (ran, took) = home.run_timed("create Next");
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        assert!(took.waited < LIFE, "{step}: {took:?}");
        let tasks = home.present();
        let waiting = tasks.values().filter(|task| task["blockedBy"] == json!(["1"])).count();
        assert_eq!(waiting, if tasks.contains_key("1") { 3 } else { 0 }, "{step}: {tasks:?}");
        is_in_order(&home, "L");
    });
}

/// Lets a rival create a task in a list whose lock a suspended command holds, and returns its id.
fn overtake(home: &Home, who: Who, list: &str, place: &str) -> String {
    match who {
        Who::Ours => {
            let (ran, took) = home.run_timed(&format!("create Rival --list {list} --json"));
            assert!(ran.code == Some(0) && took.waited < LONGEST_WAIT, "{place}: {took:?}: {ran:?}");
            ran.id()
        }
        Who::Node => {
            let directory = home.list(list);
            let create = format!(
                "for (;;) try {{ console.log(await store.create({}, {{ subject: 'Rival' }})); break; }} \
                 catch (error) {{ if (error.code !== 'ELOCKED') throw error; }}",
                quoted(&directory)
            );
            let mut rival = Rival::script(&create);
            let id = rival.line().unwrap_or_else(|| panic!("{place}: the rival made no task"));
            assert_eq!(rival.end().code, Some(0), "{place}");
            id
        }
    }
}

/// Starts a Node program that can wait for the list's lock longer than the client does: `lock()`.
fn patient(body: &str, directory: &Path) -> Rival {
    let file = directory.join(".lock");
    Rival::script(&format!(
        "const lock = async () => {{ for (;;) try {{ return await locking.acquire({}); }} \
         catch (error) {{ if (error.code !== 'ELOCKED') throw error; }} }}; {body}",
        quoted(&file)
    ))
}

fn quoted(path: &Path) -> String {
    Value::from(path.to_str().unwrap()).to_string()
}

fn home_with_dependents(count: usize) -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create Root");
    for _ in 0..count {
        home.ask("create Dependent --blocked-by 1");
    }
    home
}

fn only(tasks: &Tasks, subject: &str) -> String {
    let found: Vec<&String> =
        tasks.iter().filter(|(_, task)| task["subject"] == json!(subject)).map(|(id, _)| id).collect();
    assert_eq!(found.len(), 1, "{subject} is there {} times: {tasks:?}", found.len());
    found[0].clone()
}

/// Requires that nothing lies about, and that the journal tells what the files hold.
fn is_in_order(home: &Home, list: &str) {
    let directory: PathBuf = home.list(list);
    home.ask(&format!("list --list {list}"));
    assert_eq!(leftovers(&directory), Vec::<String>::new());
    is_consistent_journal(&home.ask(&format!("history --list {list}")), &read_tasks(&directory)).unwrap();
}

fn side_by_side<T: Send>(cases: Vec<T>, check: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for case in cases {
            let check = &check;
            scope.spawn(move || check(case));
        }
    });
}
