use crate::test::Test;

#[test]
fn the_best_comes_first_with_the_reason() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending <- 2; 4 pending <- 3; 5 pending (ana); 6 in_progress; 7 pending")
        .quietly("update 7 --priority high")
        .run("ready")
        .run("ready -n 1")
        .run("ready --json")
        .snapshot();
}

#[test]
fn nothing_ready_is_said() {
    Test::new().list("1 completed").run("ready").run("ready --json").snapshot();
}
