use std::io::BufRead as _;
use std::process::Stdio;

use serde_json::Value;
use taskyard_testkit::Process;

use crate::test::Test;

/// Starts `watch` and returns it with the lines it writes.
fn watching(test: &Test, arguments: &[&str]) -> (Process, impl Iterator<Item = Value> + use<>) {
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let mut child = command.arg("watch").args(arguments).stdout(Stdio::piped()).start();
    let lines = child.take_output().lines();
    (child, lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))
}

#[test]
fn past_and_present_changes_come_one_line_each() {
    let test = Test::new().quietly("create one --as ana").quietly("start 1 --as ben");
    let (mut child, mut lines) = watching(&test, &["--since", "0"]);
    let first = lines.next().unwrap();
    assert_eq!(first["schema"], "taskyard/1");
    assert_eq!(
        (first["revision"].as_u64(), first["op"].as_str(), first["actor"].as_str()),
        (Some(1), Some("create"), Some("ana"))
    );
    assert_eq!(first["before"], Value::Null);
    assert_eq!(lines.next().unwrap()["after"]["status"], "in_progress");
    let test = test.quietly("done 1 --as cy --force");
    let third = lines.next().unwrap();
    assert_eq!((third["actor"].as_str(), third["task"].as_str()), (Some("cy"), Some("1")));
    let file = test.path("home/.claude/tasks/project/1.json");
    std::fs::remove_file(file).unwrap();
    assert_eq!(lines.next().unwrap()["op"], "removed_elsewhere");
    child.kill();
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let test = Test::new().quietly("create one");
    let (mut child, mut lines) = watching(&test, &["--since", "0"]);
    lines.next().unwrap();
    drop(lines);
    assert_eq!(child.wait().code(), Some(0));
}

#[test]
fn only_changes_of_what_a_query_chooses_are_shown() {
    let test = Test::new().quietly("create one --tag db").quietly("create two").quietly("done 1-2");
    for (query, expected) in [
        (&["tag:db"][..], &[("1", "create"), ("1", "update")][..]),
        (&["status:completed two"], &[("2", "update")]),
        (&["not", "tag:db", "ready"], &[]),
    ] {
        let arguments: Vec<&str> = ["--since", "0"].iter().chain(query).copied().collect();
        let (mut child, mut lines) = watching(&test, &arguments);
        for (task, op) in expected {
            let line = lines.next().unwrap();
            assert_eq!((line["task"].as_str(), line["op"].as_str()), (Some(*task), Some(*op)), "{query:?}");
            assert_eq!(line["last"], true);
        }
        child.kill();
        assert!(lines.next().is_none(), "{query:?}");
    }
}
