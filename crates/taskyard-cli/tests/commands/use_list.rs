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
