//! Files that are no tasks: each is a clear word, and none of them is ever changed.

use crate::test::Test;

const GOOD: &str = "1 pending";

/// Runs what a person would try on a list whose `5.json` holds this, and sees that the file is left alone.
fn with_file(contents: &[u8]) -> Test {
    let test = Test::new()
        .strict()
        .list(GOOD)
        .task_file("5.json", contents)
        .run("list")
        .run("list --json")
        .run("show 5")
        .run("update 5 --subject x")
        .run("delete 5 --json")
        .run("doctor")
        .run("create next --quiet");
    assert_eq!(std::fs::read(test.path("home/.claude/tasks/project/5.json")).unwrap(), contents);
    test
}

#[test]
fn a_torn_file_is_told_of_and_left_alone() {
    with_file(br#"{"id": "5", "subj"#).snapshot();
}

#[test]
fn an_empty_file_is_told_of_and_left_alone() {
    with_file(b"").snapshot();
}

#[test]
fn a_byte_order_mark_is_told_of_and_left_alone() {
    with_file("\u{feff}{\"id\":\"5\",\"subject\":\"s\",\"description\":\"\",\"status\":\"pending\",\"blocks\":[],\"blockedBy\":[]}".as_bytes())
        .snapshot();
}

#[test]
fn wrong_types_are_told_of_and_left_alone() {
    with_file(br#"{"id":5,"subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}"#).snapshot();
}

#[test]
fn an_unknown_status_is_told_of_and_left_alone() {
    with_file(b"{\"id\":\"5\",\"subject\":\"s\",\"description\":\"\",\"status\":\"open\\u001b[31m\",\"blocks\":[],\"blockedBy\":[]}").snapshot();
}

#[test]
fn what_is_not_utf8_is_told_of_and_left_alone() {
    with_file(b"{\"id\":\"5\",\"subject\":\"\xff\"}").snapshot();
}

#[test]
fn directory_named_like_a_task_is_reported_and_left_alone() {
    let test = Test::new().list(GOOD).meanwhile(|place| {
        std::fs::create_dir(place.join("home/.claude/tasks/project/5.json")).unwrap();
    });
    let test = test.run("list").run("show 5").run("update 5 --subject x --json").run("doctor").run("clear").run("list");
    assert!(test.path("home/.claude/tasks/project/5.json").is_dir());
    test.snapshot();
}

#[test]
fn a_file_of_a_hundred_megabytes_is_not_read() {
    let test = Test::new().list(GOOD).meanwhile(|place| {
        let file = std::fs::File::create(place.join("home/.claude/tasks/project/5.json")).unwrap();
        file.set_len(100 * 1024 * 1024).unwrap();
    });
    test.run("list").run("show 5").run("doctor").snapshot();
}

#[test]
fn a_task_beyond_the_limit_is_not_written() {
    let test = Test::new().list(GOOD).stdin("x".repeat(16 * 1024 * 1024 + 1)).run("create huge -d -");
    test.stdin("\"".repeat(9 * 1024 * 1024)).run("create huge -d - --json").run("list").snapshot();
}

#[test]
fn foreign_files_are_passed_over() {
    Test::new()
        .list(GOOD)
        .task_file("notes.txt", "x")
        .task_file(".hidden.json", "x")
        .task_file("2.json.bak", "x")
        .run("list")
        .run("doctor")
        .snapshot();
}
