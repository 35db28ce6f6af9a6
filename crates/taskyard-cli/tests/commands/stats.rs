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

#[test]
fn estimates_are_compared_with_the_time_in_progress() {
    let mut test = Test::new()
        .quietly("create one --estimate 2h")
        .quietly("create two --estimate 30m --due 2001-01-01")
        .quietly("create three --defer 2199-01-01")
        .quietly("start 1")
        .quietly("done 1");
    let stats = test.json("stats --json");
    assert_eq!((&stats["overdue"], &stats["deferred"]), (&1.into(), &1.into()));
    let estimates = stats["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 2);
    assert_eq!(
        (&estimates[0]["task"], &estimates[0]["estimate"], &estimates[0]["completed"]),
        (&"1".into(), &7200.into(), &true.into())
    );
    assert!(estimates[0]["inProgress"].as_u64().unwrap() < 600);
    test.run("stats").snapshot();
}
