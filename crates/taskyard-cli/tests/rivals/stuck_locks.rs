//! Locks that by the client's rules would last for ever: a time in the future counts from when it was first seen, by a clock that is never
//! set, whichever process of ours saw it.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use taskyard_testkit::{Home, Rival, Took, leftovers, wait_until};

const DAY: Duration = Duration::from_secs(86_400);
/// How long a lock lives that no process refreshes.
const LIFE: Duration = Duration::from_secs(10);
/// What a busy disk adds; it is less than the life of another lock.
const SLACK: Duration = Duration::from_secs(9);

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    home.ask("send --to bob hello");
    home
}

/// Makes a lock as the client does, with a time so far in the future.
fn make_lock(path: &Path, ahead: Duration) {
    fs::create_dir(path).unwrap();
    touch(path, ahead);
}

fn touch(path: &Path, ahead: Duration) {
    File::open(path).unwrap().set_modified(SystemTime::now() + ahead).unwrap();
}

/// Every lock there is, and a command that needs it.
fn locks(home: &Home) -> [(PathBuf, &'static str); 4] {
    let team = home.path().join(".claude/teams/alpha");
    [
        (home.list("L").join(".lock.lock"), "create B"),
        (home.list("L").join("1.json.lock"), "update 1 --subject B"),
        (team.join("inboxes/bob.json.lock"), "send --to bob hi"),
        (team.join("config.json.lock"), "team join alpha --as eve"),
    ]
}

#[test]
fn future_lock_expires_after_unchanged_lock_lifetime() {
    thread::scope(|scope| {
        for place in 0..4 {
            scope.spawn(move || {
                let home = home();
                let (lock, words) = locks(&home)[place].clone();
                make_lock(&lock, DAY);
                let (ran, took) = home.run_timed(words);
                assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
                assert!(took.elapsed > LIFE && took.waited < LIFE + SLACK, "`{words}`: {took:?}");
                assert!(!lock.exists());
                assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
                // The client, which would have waited for ever, gets in as well.
                let file = home.task_file("1");
                let mut rival = Rival::start("hold.js", &[file.to_str().unwrap(), "0"]);
                assert_eq!(rival.line().as_deref(), Some("held"));
            });
        }
    });
}

#[test]
fn what_one_process_saw_the_next_one_knows() {
    let home = home();
    let lock = home.list("L").join(".lock.lock");
    make_lock(&lock, DAY);
    let started = Instant::now();
    // Killed long before it could be sure.
    let mut first = home.command("create B").start();
    let seen = home.sidecar("L").join("queue.seen");
    wait_until("the lock to be written down", || seen.exists());
    first.kill();
    let (ran, took) = home.run_timed("create C");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(started.elapsed() > LIFE && took.waited < LIFE + SLACK, "{took:?}");
    // Long unchanged, as every process knows that reads what was written down: none waits any more.
    make_lock(&lock, DAY);
    home.start_with("any=wall:0", "doctor").wait();
    let text = fs::read_to_string(&seen).unwrap();
    let aged: Vec<String> = text.lines().map(aged_by_eleven_seconds).collect();
    fs::write(&seen, aged.join("\n") + "\n").unwrap();
    let (ran, took) = home.run_timed("create D");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.waited < SLACK, "{took:?}");
}

/// Makes a line of the file look as if it had been written eleven seconds earlier; the first line names the boot.
fn aged_by_eleven_seconds(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    if words.len() == 5 {
        words[3] = (words[3].parse::<i64>().unwrap() - 11_000_000_000).to_string();
    }
    words.join(" ")
}

#[test]
fn a_living_holder_whose_clock_is_ahead_is_never_robbed() {
    thread::scope(|scope| {
        for words in ["create B", "doctor --fix --yes"] {
            scope.spawn(move || {
                let home = home();
                let lock = home.list("L").join(".lock.lock");
                make_lock(&lock, DAY);
                let inode = fs::metadata(&lock).unwrap().ino();
                let is_over = AtomicBool::new(false);
                let ran = thread::scope(|inner| {
                    inner.spawn(|| {
                        let mut next = Instant::now();
                        while !is_over.load(Ordering::Relaxed) {
                            if next.elapsed() > LIFE / 4 {
                                next = Instant::now();
                                touch(&lock, DAY);
                            }
                            thread::sleep(Duration::from_millis(20));
                        }
                    });
                    let ran = home.run(words);
                    is_over.store(true, Ordering::Relaxed);
                    ran
                });
                assert!(matches!(ran.code, Some(3 | 5)), "`{words}`: {ran:?}");
                assert_eq!(fs::metadata(&lock).unwrap().ino(), inode, "`{words}` robbed a living holder");
                if words == "create B" {
                    assert!(
                        ran.stderr.contains("taskyard doctor --fix") && ran.stderr.contains(".lock.lock"),
                        "{ran:?}"
                    );
                }
            });
        }
    });
}

#[test]
fn doctor_finds_future_lock_at_once_and_removes_it() {
    thread::scope(|scope| {
        for place in 0..4 {
            scope.spawn(move || {
                let home = home();
                let (lock, words) = locks(&home)[place].clone();
                make_lock(&lock, DAY);
                let (found, took) = home.run_timed("doctor");
                assert!(found.code == Some(3) && took.waited < SLACK, "{took:?}: {found:?}");
                for word in ["lock_in_the_way", "in the future", lock.file_name().unwrap().to_str().unwrap()] {
                    assert!(found.stdout.contains(word), "{word}: {found:?}");
                }
                assert!(lock.exists());
                let fixed = home.run("doctor --fix --yes");
                assert_eq!(fixed.code, Some(0), "{fixed:?}");
                assert!(!lock.exists());
                let (ran, took) = home.run_timed(words);
                assert!(ran.code == Some(0) && took.waited < SLACK, "{took:?}: {ran:?}");
            });
        }
    });
}

#[test]
fn a_clock_that_was_set_back_keeps_no_lock_alive() {
    let home = home();
    let lock = home.list("L").join(".lock.lock");
    fs::create_dir(&lock).unwrap();
    let mut command = home.command("create B");
    command.env("TASKYARD_FAILPOINTS", "any=wall:-3600000");
    let (ran, took) = Took::by(command);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.elapsed > LIFE && took.waited < LIFE + SLACK, "{took:?}");
}

#[test]
fn a_clock_that_was_set_forward_ends_no_lock_unwatched() {
    let home = home();
    let lock = home.list("L").join(".lock.lock");
    fs::create_dir(&lock).unwrap();
    let mut command = home.command("create B");
    command.env("TASKYARD_FAILPOINTS", "any=wall:3600000");
    let (ran, took) = Took::by(command);
    // A living holder would have refreshed it within 5 s.
    assert!(ran.code == Some(0) && took.elapsed > LIFE / 2, "{took:?}: {ran:?}");
}

#[test]
fn signs_seen_before_reboot_count_for_nothing() {
    let home = home();
    let lock = home.list("L").join(".lock.lock");
    make_lock(&lock, DAY);
    home.run("doctor");
    let seen = home.sidecar("L").join("queue.seen");
    let aged: Vec<String> = fs::read_to_string(&seen).unwrap().lines().map(aged_by_eleven_seconds).collect();
    fs::write(&seen, format!("another-boot\n{}\n", aged[1..].join("\n"))).unwrap();
    let (ran, took) = home.run_timed("create B");
    assert!(ran.code == Some(0) && took.elapsed > LIFE, "{took:?}: {ran:?}");
}

#[test]
fn a_dead_lock_with_something_in_it_is_kept_under_another_name() {
    let home = home();
    for (lock, words) in locks(&home) {
        make_lock(&lock, Duration::ZERO);
        fs::write(lock.join("inside"), "somebody's").unwrap();
        File::open(&lock).unwrap().set_modified(SystemTime::now() - LIFE - SLACK).unwrap();
        let (ran, took) = home.run_timed(words);
        assert!(ran.code == Some(0) && took.waited < SLACK, "`{words}`: {took:?}: {ran:?}");
        assert_eq!(fs::read_to_string(lock.with_added_extension("old").join("inside")).unwrap(), "somebody's");
    }
    assert_eq!(home.run("doctor").code, Some(0));
}

#[test]
fn dead_file_in_place_of_lock_is_removed_or_kept_aside() {
    for contents in ["", "somebody's"] {
        let home = home();
        for (lock, words) in locks(&home) {
            fs::write(&lock, contents).unwrap();
            File::open(&lock).unwrap().set_modified(SystemTime::now() - LIFE - SLACK).unwrap();
            let (ran, took) = home.run_timed(words);
            assert!(ran.code == Some(0) && took.waited < SLACK, "`{words}`: {took:?}: {ran:?}");
            assert_eq!(fs::read_to_string(lock.with_added_extension("old")).unwrap_or_default(), contents);
        }
        assert_eq!(home.present()["1"]["subject"], json!("B"));
    }
}
