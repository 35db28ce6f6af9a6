use crate::test::Test;

const ONE_SIDED: &str =
    r#"{"id":"2","subject":"two","description":"","status":"pending","blocks":["7"],"blockedBy":["1"]}"#;

#[test]
fn a_sound_list_has_nothing_wrong() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .run("doctor")
        .run("doctor --json")
        .run("doctor --fix --yes")
        .snapshot();
}

#[test]
fn what_is_wrong_is_named_and_mended_when_asked() {
    Test::new()
        .list("1 pending")
        .task_file("2.json", ONE_SIDED)
        .run("doctor")
        .run("doctor --json")
        .run("doctor --fix")
        .run("doctor --fix --yes")
        .run("doctor")
        .run("list --json")
        .snapshot();
}

#[test]
fn a_file_that_cannot_be_read_is_left_to_a_person() {
    Test::new().task_file("5.json", "{\"id\": ").run("doctor").run("doctor --fix --yes --json").snapshot();
}

#[test]
fn settings_nobody_knows_are_pointed_out() {
    Test::new()
        .file("home/.config/taskyard/taskyard.toml", "colour = true\n[display]\nstyl = 1")
        .run("doctor")
        .run("doctor --json")
        .snapshot();
}

#[test]
fn yes_needs_fix() {
    Test::new().run("doctor --yes").snapshot();
}
