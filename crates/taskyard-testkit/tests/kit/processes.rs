//! Processes that tests start: what they see, what is heard of them, and that none is left behind.

use std::path::Path;
use std::process::{self, Stdio};
use std::{env, fs};

use taskyard_testkit::{PATIENCE, Program, wait_for, wait_until};

fn shell(line: &str) -> Program {
    let mut shell = Program::new("sh");
    shell.args(["-c", line]);
    shell
}

#[test]
fn program_sees_only_needed_environment_of_test_run() {
    let seen = shell("env").succeed();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let allowed = ["PATH", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "TESTKIT_STARTED_BY"];
    assert!(names.iter().all(|name| allowed.contains(name)), "{names:?}");
    assert!(Program::inheriting("env").succeed().contains("CARGO"));
}

#[test]
fn a_test_that_lets_go_of_a_process_leaves_nothing_of_it() {
    let process = shell("echo up; exec sleep 600").start();
    let entry = format!("/proc/{}", process.id());
    assert!(Path::new(&entry).exists());
    drop(process);
    assert!(!Path::new(&entry).exists(), "it is neither running nor a zombie");
}

/// Says to the test below how it ends, and where the ids of what it started go.
const WAY_TO_END: &str = "TASKYARD_TEST_ENDS_BY";

/// What the next test runs in a process of its own; alone it does nothing.
#[test]
fn a_test_that_ends_badly() {
    let Ok(way) = env::var(WAY_TO_END) else { return };
    let started = Path::new(&way).with_file_name("started");
    let line = "setsid sh -c 'echo $$ >> started; exec sleep 600' & sh -c 'trap \"\" TERM; echo $$ >> started; sleep 600' & wait";
    let process = shell(line).current_dir(started.parent().unwrap()).start();
    // One that a thread waits for cannot be let go of.
    std::thread::spawn(move || process.end());
    wait_until("both to start", || fs::read_to_string(&started).unwrap_or_default().lines().count() == 2);
    match Path::new(&way).file_name().unwrap().to_str().unwrap() {
        "panic" => panic!("as a test does that fails"),
        "abort" => process::abort(),
        _ => std::thread::sleep(PATIENCE),
    }
}

#[test]
fn a_test_that_ends_badly_leaves_nothing_running() {
    for way in ["panic", "abort", "kill"] {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let mut test = Program::inheriting(env::current_exe().unwrap());
        test.args(["--exact", "processes::a_test_that_ends_badly", "--nocapture"])
            .env(WAY_TO_END, folder.path().join(way));
        let mut test = test.stdout(Stdio::null()).stderr(Stdio::null()).start();
        let pids = wait_for("the processes of the test", || {
            let pids = fs::read_to_string(&started).unwrap_or_default();
            (pids.lines().count() == 2).then_some(pids)
        });
        if way == "kill" {
            test.kill();
        }
        assert!(!test.wait().success(), "{way}");
        for pid in pids.lines() {
            wait_until(&format!("the end of {pid} after {way}"), || !is_running(pid));
        }
    }
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn what_a_leader_started_ends_with_it() {
    let mut leader = shell("sleep 600 & echo $!; wait");
    let mut leader = leader.leading_group().start();
    let pid = leader.line().unwrap();
    drop(leader);
    wait_until("the end of what it started", || !is_running(&pid));
}

#[test]
fn lines_come_as_they_are_printed_and_the_rest_at_the_end() {
    let mut process = shell("read word; echo one $word; echo two; echo three; echo four >&2; exit 3");
    let mut process = process.stdin(Stdio::piped()).stderr(Stdio::piped()).start();
    process.tell("more");
    assert_eq!(process.line().as_deref(), Some("one more"));
    let ran = process.end();
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(3), "two\nthree\n", "four\n"));
}

#[test]
fn limited_program_keeps_environment_directory_and_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let mut plain = shell("echo $WORD $0 $(ulimit -n) $(pwd -P)");
    plain.arg("given").env("WORD", "said").current_dir(folder.path().canonicalize().unwrap());
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(plain.limited("ulimit -n 50").succeed(), format!("said given 50 {}\n", place.display()));
}
