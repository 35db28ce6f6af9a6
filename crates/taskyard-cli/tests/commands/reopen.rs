use crate::test::Test;

#[test]
fn reopening_names_what_was_already_started() {
    Test::new()
        .list("1 completed; 2 in_progress <- 1; 3 pending <- 1")
        .run("reopen 1")
        .run("list")
        .run("history")
        .snapshot();
}

#[test]
fn a_cancelled_task_can_be_taken_up_again() {
    Test::new().list("1 pending").quietly("cancel 1").run("reopen 1 --json").snapshot();
}
