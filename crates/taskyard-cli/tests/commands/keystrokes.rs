//! The table of `docs/compare.md` matches the script's counts, its commands work, and no command is longer than Taskwarrior's.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use taskyard_testkit::{Program, install_taskwarrior};

use crate::test::Test;

/// A command of the table and its count.
fn counted(cell: &str) -> (String, usize) {
    let (command, count) = cell.trim().rsplit_once(' ').unwrap();
    (command.trim_matches('`').to_owned(), count.parse().unwrap())
}

#[test]
fn everyday_jobs_take_no_more_keys_than_in_taskwarrior() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = Program::new(root.join("scripts/keystrokes")).output();
    let table = String::from_utf8(table.stdout).unwrap();
    let page = fs::read_to_string(root.join("docs/compare.md")).unwrap();
    assert!(page.contains(&table), "put the table that scripts/keystrokes prints into docs/compare.md");

    let mut test = Test::new();
    let tasks: Vec<String> = (1..=9).map(|number| format!("{number} pending")).collect();
    test = test.list(&tasks.join("; "));
    let warrior = install_taskwarrior();
    let place = test.path("warrior");
    fs::create_dir_all(place.join("data")).unwrap();
    fs::write(place.join("rc"), "confirmation=no\nverbose=nothing\ngc=off\nbulk=0\n").unwrap();
    let task = |words: &str| {
        let mut command = Program::new(&warrior);
        command.env("HOME", &place).env("TASKRC", place.join("rc")).env("TASKDATA", place.join("data"));
        command.args(words.split(' ').skip(1)).output()
    };
    (1..=9).for_each(|number| assert!(task(&format!("task add t{number}")).status.success()));

    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" |").collect();
        let ((ours, our_keys), (theirs, their_keys)) = (counted(cells[1]), counted(cells[2]));
        assert!(our_keys <= their_keys, "{row}");
        assert_eq!(our_keys, ours.chars().count() + 1, "{row}");
        // Alone it is a screen, which only a terminal has.
        if ours != "yd" {
            let ended = test.command(env!("CARGO_BIN_EXE_yd")).args(ours.split(' ').skip(1)).output();
            assert!(ended.status.success(), "{ours}: {}", String::from_utf8_lossy(&ended.stderr));
        }
        let ended = task(theirs.split('⏎').next().unwrap());
        assert!(ended.status.success(), "{theirs}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
