use crate::test::Test;

#[test]
fn the_projects_file_counts_over_the_users() {
    Test::new()
        .file("home/.config/taskyard/taskyard.toml", "list = \"mine\"\nstore = \"claude:\"")
        .run("where")
        .file("home/project/taskyard.toml", "list = \"ours\"\nstore = \"file:.taskyard\"")
        .run("where")
        .quietly("trust")
        .run("where")
        .env("TASKYARD_STORE", "claude:")
        .run("where --quiet")
        .snapshot();
}

#[test]
fn rules_can_be_set_once() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 1")
        .file("home/project/taskyard.toml", "rules = \"client\"")
        .quietly("trust")
        .run("start 2")
        .run("start 3 --rules strict")
        .snapshot();
}

#[test]
fn a_wrong_value_is_told_with_its_line() {
    Test::new()
        .file("home/project/taskyard.toml", "list = \"x\"\n[claims]\nlease = \"soon\"")
        .run("list")
        .run("list --json")
        .snapshot();
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    Test::new().file("home/project/taskyard.toml", "list = \"x\"\n[claims\n").run("list").snapshot();
}

#[test]
fn a_working_day_is_as_long_as_configured() {
    Test::new()
        .file("home/.config/taskyard/taskyard.toml", "[time]\nworking_day = 7.5")
        .run("create one --estimate 2d")
        .run("list 'estimate=2d'")
        .run("list 'estimate>2d'")
        .file("home/.config/taskyard/taskyard.toml", "[time]\nworking_day = 25")
        .run("create two --estimate 1d")
        .snapshot();
}
