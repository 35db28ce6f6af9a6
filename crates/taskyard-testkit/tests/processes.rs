//! Processes that tests start: what they see, what is heard of them, and that none is left behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::process::Stdio;

use taskyard_testkit::Program;

fn shell(line: &str) -> Program {
    let mut shell = Program::new("sh");
    shell.args(["-c", line]);
    shell
}

#[test]
fn a_program_sees_nothing_of_the_test_run_but_where_programs_and_temporary_files_are() {
    let seen = shell("env").succeed();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let allowed = ["PATH", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"];
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

#[test]
fn what_a_leader_started_ends_with_it() {
    let mut leader = shell("sleep 600 & echo $!; wait");
    let mut leader = leader.leading_group().start();
    let stat = format!("/proc/{}/stat", leader.line().unwrap());
    drop(leader);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
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
fn a_program_that_is_limited_keeps_its_environment_its_directory_and_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let mut plain = shell("echo $WORD $0 $(ulimit -n) $(pwd -P)");
    plain.arg("given").env("WORD", "said").current_dir(folder.path().canonicalize().unwrap());
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(plain.limited("ulimit -n 50").succeed(), format!("said given 50 {}\n", place.display()));
}
