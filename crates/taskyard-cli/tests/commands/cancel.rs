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
