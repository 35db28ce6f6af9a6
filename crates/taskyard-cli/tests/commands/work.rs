use std::time::{Duration, Instant};

use taskyard_testkit::is_once_within;

use crate::test::Test;

#[test]
fn what_fails_goes_back_is_given_up_and_passed_over() {
    Test::new()
        .list("1 pending 'Write the parser'; 2 pending <- 1")
        .run("work --retries 1 --as ana -- sh -c 'echo no luck >&2; exit 4'")
        .run("work --as ben --retries 1 -- true")
        .run("show 1")
        .run("work --json --retries 0 -- echo hello")
        .snapshot();
}

#[test]
fn only_the_summary_is_wanted_in_quiet() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 2; 4 pending (ben)")
        .run("work --quiet -j 2 -- echo hello")
        .run("work --quiet -- echo hello")
        .run("list --owner ben")
        .snapshot();
}

#[test]
fn what_a_command_writes_cannot_steer_the_terminal() {
    Test::new().list("1 pending").run(r"work --retries 0 -- sh -c 'printf \\033[2Jboo; exit 1'").snapshot();
}

#[test]
fn unstartable_command_is_reported_once_at_no_cost() {
    Test::new()
        .list("1 pending; 2 pending")
        .run("work -j 2 -- no-such-program")
        .run("work --json -- no-such-program")
        .run("list")
        .meanwhile(|place| {
            let task = std::fs::read_to_string(place.join("home/.claude/tasks/project/1.json")).unwrap();
            assert!(task.contains("cannot run `no-such-program`") && !task.contains("attempts"), "{task}");
        })
        .snapshot();
}

#[test]
fn nothing_to_do_is_no_failure() {
    Test::new().run("work -- true").list("1 completed; 2 in_progress (ben)").run("work -- true").snapshot();
}

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    Test::new().run("work").run("work --").run("work -j 0 -- true").run("work --ttl 0s -- true").snapshot();
}

#[test]
fn tasks_for_others_are_left_to_them() {
    Test::new()
        .quietly("create Review --meta assignable_to='\"role:review\"'")
        .quietly("create Build")
        .run("work --quiet -- true")
        .run("list")
        .run("work --quiet --role review -- true")
        .snapshot();
}

#[test]
fn only_what_a_query_chooses_is_worked_on() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending")
        .quietly("update 1 3 --tag db")
        .run("work --where tag:db --json -- true")
        .run("list")
        .run("work --where tga:db -- true")
        .snapshot();
}

#[test]
fn work_that_waits_begins_a_deferred_task_at_its_moment() {
    is_once_within(Duration::from_secs(30), "a deferral of two seconds", || {
        let mut test = Test::new().quietly("create later --defer 2s");
        let started = Instant::now();
        // The command ends the worker that runs it, whose process this shell becomes.
        let line = "exec \"$0\" work --wait --quiet -- kill -INT $$";
        test.command("/bin/sh").args(["-c", line, env!("CARGO_BIN_EXE_taskyard")]).output();
        let waited = started.elapsed();
        let entries = test.json("history 1 --json");
        assert_eq!(entries["entries"][1]["op"], "claim", "{entries}");
        waited
    });
}
