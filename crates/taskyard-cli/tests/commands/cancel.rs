use crate::test::Test;

#[test]
fn a_cancelled_task_no_longer_blocks() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .run("cancel 1")
        .run("list")
        .run("list --style flat")
        .run("show 1 --json")
        .snapshot();
}

#[test]
fn several_tasks_are_cancelled_and_reopened_by_range() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 in_progress (ana)")
        .run("cancel 1-2,3")
        .run("reopen --where status:cancelled")
        .run("cancel 2 7 --keep-going --json")
        .run("reopen 2 3")
        .run("reopen 2-4 9 --keep-going --keep-owner")
        .snapshot();
}
