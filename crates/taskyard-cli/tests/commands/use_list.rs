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
    Test::new().run("use").run("use ''").run(&format!("use {long} --json")).snapshot();
}

#[test]
fn a_binding_from_above_is_pointed_out() {
    let mut test = Test::new().quietly("use launch");
    std::fs::create_dir(test.path("home/project/inner")).unwrap();
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let output = command.current_dir(test.path("home/project/inner")).args(["use", "--remove"]).output().unwrap();
    test.note("taskyard use --remove", &output);
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let output = command.current_dir(test.path("home/project/inner")).args(["where", "--quiet"]).output().unwrap();
    test.note("taskyard where --quiet", &output);
    test.snapshot();
}

#[test]
fn a_broken_database_is_told_of_and_can_be_done_without() {
    Test::new()
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
