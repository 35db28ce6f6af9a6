use crate::test::Test;

#[test]
fn the_choice_comes_with_its_reason() {
    Test::new()
        .run("where")
        .run("where --json")
        .run("where --quiet")
        .run("where --list flag")
        .run("where --store file:elsewhere")
        .snapshot();
}

#[test]
fn each_thing_that_names_a_list_beats_the_next() {
    let mut test = Test::new();
    let chosen = |test: &mut Test| test.json("where --json")["list"].as_str().unwrap().to_owned();
    assert_eq!(chosen(&mut test), "project");
    test = test.meanwhile(|place| std::fs::create_dir(place.join("home/.git")).unwrap());
    assert_eq!(chosen(&mut test), "home");
    test = test.file("home/package.json", r#"{"name":"@scope/package"}"#);
    assert_eq!(chosen(&mut test), "@scope/package");
    test = test.env("CLAUDE_CODE_SESSION_ID", "0123456789abcdef");
    assert_eq!(chosen(&mut test), "0123456789abcdef");
    test = test.meanwhile(|place| std::fs::create_dir_all(place.join("home/.claude/tasks/session-01234567")).unwrap());
    assert_eq!(chosen(&mut test), "session-01234567");
    test = test.quietly("use bound");
    assert_eq!(chosen(&mut test), "bound");
    test = test.file("home/.claude/teams/t/config.json", r#"{"name":"crew","members":[{"name":"ana"}]}"#);
    assert_eq!(chosen(&mut test), "bound");
    test = test.env("TASKYARD_AGENT", "ana");
    assert_eq!(chosen(&mut test), "crew");
    test = test.file("home/.claude/teams/u/config.json", r#"{"name":"other","members":[{"name":"ana"}]}"#);
    assert_eq!(chosen(&mut test), "bound");
    test = test.file("home/.config/taskyard/taskyard.toml", "list = \"configured\"");
    assert_eq!(chosen(&mut test), "configured");
    test = test.env("CLAUDE_CODE_TASK_LIST_ID", "client");
    assert_eq!(chosen(&mut test), "client");
    test = test.env("TASKYARD_LIST", "ours");
    assert_eq!(chosen(&mut test), "ours");
    assert_eq!(test.json("where --list flag --json")["reason"], "given with --list");
}

#[test]
fn empty_variables_count_as_unset() {
    Test::new().env("TASKYARD_LIST", "").env("CLAUDE_CODE_TASK_LIST_ID", "").run("where --quiet").snapshot();
}
