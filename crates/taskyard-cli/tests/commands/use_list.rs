use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{HeldDatabase, set_database_format};

use crate::test::Test;

#[test]
fn a_directory_and_those_below_are_bound_to_a_list() {
    Test::new()
        .run("use launch")
        .run("where --quiet")
        .run("create 'In the bound list' --json")
        .run("use --remove")
        .run("use --remove")
        .run("where --quiet")
        .snapshot();
}

#[test]
fn a_stronger_word_is_pointed_out() {
    Test::new().env("TASKYARD_LIST", "other").run("use launch").run("use launch --json").snapshot();
}

#[test]
fn a_name_is_needed_and_must_fit() {
    let long = "x".repeat(300);
    let test = Test::new().run("use").run("use ''").run(&format!("use {long} --json"));
    test.run("use bad/name").run("use 'C:\\\\x' --json").run("use @scope/package").run("use 东京").snapshot();
}

#[test]
fn a_binding_from_above_is_pointed_out() {
    let mut test = Test::new().quietly("use launch");
    std::fs::create_dir(test.path("home/project/inner")).unwrap();
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let output = command.current_dir(test.path("home/project/inner")).args(["use", "--remove"]).output();
    test.note("taskyard use --remove", &output);
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let output = command.current_dir(test.path("home/project/inner")).args(["where", "--quiet"]).output();
    test.note("taskyard where --quiet", &output);
    test.snapshot();
}

#[test]
fn a_broken_database_is_told_of_and_can_be_done_without() {
    Test::new()
        .list_named("x", "1 pending")
        .file(
            "data/machine.sqlite",
            "this is no database, and it is longer than the header of one would be: so it is looked at",
        )
        .run("list")
        .run("list --json")
        .run("list --list x")
        .run("use y")
        .snapshot();
}

#[test]
fn newer_database_is_refused_and_can_be_done_without() {
    let test = Test::new().list_named("x", "1 pending").run("use y");
    set_database_format(&test.path("data/machine.sqlite"), 2);
    test.run("list").run("use z --json").run("list --list x").snapshot();
}

#[test]
fn process_stuck_writing_database_is_awaited_and_named() {
    let mut test = Test::new().quietly("use y");
    let held = HeldDatabase::at(&test.path("data/machine.sqlite"));
    let started = Instant::now();
    let ran = test.output_of("use z --json");
    assert!(started.elapsed() >= Duration::from_secs(12), "gave up after {:?}", started.elapsed());
    drop(held);
    let error: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.status.code(), &error["error"]["code"]), (Some(5), &json!("locked")), "{error}");
    assert_eq!(error["error"]["process"], std::process::id(), "{error}");
}
