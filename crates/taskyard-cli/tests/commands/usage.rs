use crate::test::Test;

#[test]
fn wrong_usage_exits_2_in_words_and_in_json() {
    Test::new()
        .run("--json")
        .run("frobnicate")
        .run("frobnicate --json")
        .run("--json show")
        .run("show")
        .run("list --rules lax --json")
        .run("list --client-version 9 --json")
        .run("create x --blocked-by 1/2")
        .run("list --as ''")
        .run("create '--json' --bogus")
        .snapshot();
}

#[test]
fn a_store_that_is_not_known_is_wrong_usage() {
    Test::new()
        .run("list --store sqlite:x")
        .run("list --store file: --json")
        .env("TASKYARD_STORE", "nope")
        .run("list")
        .snapshot();
}

#[test]
fn variables_with_wrong_words_are_named() {
    Test::new()
        .env("TASKYARD_RULES", "lax")
        .run("list")
        .env("TASKYARD_RULES", "strict")
        .env("TASKYARD_CLIENT_VERSION", "1")
        .run("list --json")
        .snapshot();
}

#[test]
fn a_store_in_memory_is_forgotten() {
    Test::new().run("create x --store memory: --json").run("list --store memory:").snapshot();
}

#[test]
fn a_store_elsewhere_has_the_same_layout() {
    let test = Test::new().quietly("create x --store file:.taskyard");
    assert!(test.path("home/project/.taskyard/tasks/project/1.json").exists());
    test.run("list --store file:.taskyard").run("list").snapshot();
}

#[test]
fn the_log_names_the_task_and_goes_to_stderr() {
    let test = Test::new().env("TASKYARD_LOG", "info");
    let output = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["create", "x", "--json"]).output();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("{\"schema\""));
    assert!(String::from_utf8(output.stderr).unwrap().contains("task=1"));
}

#[test]
fn nobody_named_is_someone() {
    let mut test = Test::new()
        .without("USER")
        .quietly("create x")
        .quietly("create y --as ana")
        .env("TASKYARD_AGENT", "ben")
        .quietly("create z");
    let answer = test.json("history --json");
    let actors: Vec<&str> =
        answer["entries"].as_array().unwrap().iter().map(|entry| entry["actor"].as_str().unwrap()).collect();
    assert_eq!(actors, ["someone", "ana", "ben"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let tasks: Vec<String> =
        (1..=3000).map(|number| format!("{number} pending 'a title of some length to fill the pipe'")).collect();
    let test = Test::new().list(&tasks.join(";"));
    for arguments in ["list", "list --json", "list --style tree"] {
        let script = format!("({} {arguments}; echo $? >&2) | head -c 1", env!("CARGO_BIN_EXE_taskyard"));
        let output = test.command("/bin/sh").args(["-c", &script]).output();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "0\n", "{arguments}");
    }
}

#[test]
fn words_of_other_programs_are_told_what_they_mean_here() {
    Test::new().run("close 1").run("rm 1 --json").run("finish").run("lst").snapshot();
}

#[test]
fn help_groups_the_commands() {
    Test::new().run("help").run("").snapshot();
}
