use crate::test::Test;

#[test]
fn the_list_is_counted() {
    Test::new()
        .list("1 completed (ana); 2 pending <- 1; 3 pending (ana) <- 2; 4 in_progress (ben) <- 3; 5 pending")
        .quietly("update 5 --priority high --tag web --tag ops")
        .run("stats")
        .run("stats --json")
        .snapshot();
}
