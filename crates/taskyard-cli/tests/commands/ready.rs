use crate::test::Test;

#[test]
fn the_best_comes_first_with_the_reason() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending <- 2; 4 pending <- 3; 5 pending (ana); 6 in_progress (bob); 7 pending")
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

#[test]
fn deferred_is_not_ready_and_overdue_is_first_in_priority() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending")
        .quietly("update 1 --defer 2199-01-01")
        .quietly("update 3 --due 2001-01-01")
        .quietly("update 4 --priority high")
        .run("ready")
        .run("list --ready")
        .run("list overdue")
        .run("list deferred")
        .run("list --sort due")
        .run("claim 1 --as ana --quiet")
        .run("list 'due<1d' --rules client")
        .snapshot();
}
