//! Teams and inboxes that may not be read or written: who acts is told what, where and what to do, and nothing is lost.

use std::fs;

use taskyard_testkit::set_database_format;

use crate::nobody::{give_away, open_up, permit, run_as_nobody, take_back};
use crate::test::Test;

const INBOXES: &str = "home/.claude/teams/alpha/inboxes";
const BOBS_INBOX: &str = "home/.claude/teams/alpha/inboxes/bob.json";
const TEAM_FILE: &str = "home/.claude/teams/alpha/config.json";

/// Returns a team that everybody may write to: bob has a message and a task at hand.
fn team() -> Test {
    let test = Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("team join alpha --as eve")
        .quietly("create Parser --as bob")
        .quietly("start 1 --as eve")
        .quietly("send --to bob hello");
    open_up(&test.path("home"));
    test
}

fn run_all(test: &mut Test, lines: &[&str]) {
    for line in lines {
        run_as_nobody(test, line);
    }
}

fn contents(test: &Test, path: &str) -> String {
    fs::read_to_string(test.path(path)).unwrap()
}

#[test]
fn unreadable_inbox_is_reported_to_owner_and_senders() {
    let mut test = team();
    let before = contents(&test, BOBS_INBOX);
    permit(&test, BOBS_INBOX, 0o000);
    run_all(
        &mut test,
        &[
            "send --to bob again",
            "send --to bob again --json",
            "send --to * everybody",
            "inbox --as bob",
            "inbox --as bob --ack --json",
            "inbox --sent",
            "team show alpha",
        ],
    );
    permit(&test, BOBS_INBOX, 0o666);
    assert_eq!(contents(&test, BOBS_INBOX), before);
    test.run("inbox --as bob").snapshot();
}

#[test]
fn empty_team_file_of_client_is_restored_broken_one_is_not() {
    let mut test = team();
    let before = contents(&test, TEAM_FILE);
    for command in ["team show alpha", "send --to bob again", "doctor"] {
        fs::write(test.path(TEAM_FILE), "").unwrap();
        let output = test.output_of(command);
        assert!(output.status.success(), "{command}: {output:?}");
        assert_eq!(contents(&test, TEAM_FILE), before, "{command}");
    }
    fs::write(test.path(TEAM_FILE), "{ \"name\": ").unwrap();
    assert!(!test.output_of("team show alpha").status.success());
    assert_eq!(contents(&test, TEAM_FILE), "{ \"name\": ");
}

#[test]
fn read_only_inbox_is_left_alone_in_writable_directory() {
    let mut test = team();
    let before = contents(&test, BOBS_INBOX);
    permit(&test, BOBS_INBOX, 0o444);
    run_all(&mut test, &["send --to bob again", "inbox --as bob", "inbox --as bob --ack", "inbox --as bob"]);
    assert_eq!(contents(&test, BOBS_INBOX), before);
    permit(&test, BOBS_INBOX, 0o666);
    // What was acknowledged goes with the next.
    let test = test.quietly("send --to bob again").run("inbox --as bob --ack");
    assert_eq!(contents(&test, BOBS_INBOX), "[]");
    test.snapshot();
}

#[test]
fn inboxes_in_read_only_directory_are_read_only() {
    let mut test = team();
    let before = contents(&test, BOBS_INBOX);
    permit(&test, INBOXES, 0o555);
    run_all(
        &mut test,
        &["send --to bob again", "send --to team-lead again --as bob", "inbox --as bob", "inbox --as bob --ack --json"],
    );
    permit(&test, INBOXES, 0o777);
    assert_eq!(contents(&test, BOBS_INBOX), before);
    let names: Vec<_> = fs::read_dir(test.path(INBOXES)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "bob.json" || name == "eve.json"), "{names:?}");
    test.snapshot();
}

#[test]
fn agent_in_unreadable_team_is_not_told_it_has_none() {
    let mut test = team();
    permit(&test, TEAM_FILE, 0o000);
    run_all(
        &mut test,
        &[
            "send --to bob again",
            "inbox --as bob",
            "inbox --as bob --ack",
            "team list",
            "team show alpha",
            "team join alpha --as kim",
            "team leave --as bob",
            "team delete alpha --force",
            "claim --next --as bob",
            "list --as stranger",
        ],
    );
    permit(&test, TEAM_FILE, 0o666);
    test.run("inbox --as bob").snapshot();
}

#[test]
fn a_team_whose_file_may_not_be_written_stays_as_it_is() {
    let mut test = team();
    let before = contents(&test, TEAM_FILE);
    permit(&test, TEAM_FILE, 0o444);
    run_all(
        &mut test,
        &["team join alpha --as kim", "team leave --as eve", "team delete alpha --force", "team show alpha --json"],
    );
    permit(&test, TEAM_FILE, 0o666);
    assert_eq!(contents(&test, TEAM_FILE), before);
    // No agent's work was given back before that was known.
    test.run("list --as eve").snapshot();
}

#[test]
fn a_directory_of_teams_that_may_not_be_written_keeps_its_teams() {
    let mut test = team();
    permit(&test, "home/.claude/teams", 0o555);
    run_all(&mut test, &["team delete alpha --force", "team create beta"]);
    permit(&test, "home/.claude/teams", 0o777);
    test.run("team list").run("list --as eve").snapshot();
}

#[test]
fn read_only_data_directory_reads_messages_and_sends_none() {
    let mut test = team();
    let before = contents(&test, BOBS_INBOX);
    take_back(&test.path("data"));
    run_all(
        &mut test,
        &[
            "inbox --as bob",
            "team show alpha --json",
            "send --to bob again",
            "inbox --as bob --ack",
            "team create beta",
        ],
    );
    assert_eq!(contents(&test, BOBS_INBOX), before);
    give_away(&test.path("data"));
    test.run("inbox --as bob").run("team list").snapshot();
}

#[test]
fn newer_team_memory_is_refused_and_nothing_is_sent() {
    let test = team();
    let before = contents(&test, BOBS_INBOX);
    set_database_format(&test.path("data/teams.sqlite"), 4);
    let test = test.run("send --to bob again").run("send --to bob again --json").run("inbox --as bob");
    assert_eq!(contents(&test, BOBS_INBOX), before);
    test.snapshot();
}
