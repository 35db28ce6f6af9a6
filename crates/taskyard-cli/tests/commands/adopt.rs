use crate::test::Test;

const SESSION: &str = "0198c0de-1111-4222-8333-444455556666";

/// Returns a project in which an earlier session of the client left two open tasks.
fn left_behind() -> Test {
    let test =
        Test::new().list_named(SESSION, "1 completed; 2 pending Docs <- 1; 3 in_progress Parser; 4 pending <- 3");
    let project = test.path("home/project").canonicalize().unwrap().display().to_string();
    let slug: String =
        project.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect();
    test.file(&format!("home/.claude/projects/{slug}/{SESSION}.jsonl"), "{}\n")
}

#[test]
fn a_pipe_is_told_what_to_type() {
    left_behind().run("adopt").run("list").snapshot();
}

#[test]
fn everything_open_comes_here() {
    left_behind().run("adopt --yes").run("list").run("adopt").snapshot();
}

#[test]
fn one_list_can_be_named() {
    Test::new()
        .list_named("old", "1 pending; 2 completed")
        .run("adopt old --json")
        .run("list")
        .run("adopt nowhere")
        .snapshot();
}

#[test]
fn nothing_left_behind_is_said() {
    Test::new().run("adopt").run("adopt --yes").run("adopt --json").snapshot();
}
