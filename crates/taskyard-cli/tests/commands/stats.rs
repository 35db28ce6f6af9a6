use serde_json::json;

use crate::test::Test;

#[test]
fn the_list_is_counted() {
    let mut test = Test::new()
        .list("1 completed (ana); 2 pending <- 1; 3 pending (ana) <- 2; 4 in_progress (ben) <- 3; 5 pending")
        .quietly("update 5 --priority high --tag web --tag ops");
    let mut told = test.json("stats --json");
    // How long the commands take is no matter of this test.
    let spent = told.as_object_mut().unwrap().remove("timeSpent").unwrap();
    assert_eq!((&spent["agents"][0]["agent"], &spent["tasks"][0]["task"]), (&"ben".into(), &"4".into()));
    let counted = json!({
        "schema": "taskyard/1",
        "counts": {"pending": 3, "in_progress": 1, "completed": 1},
        "ready": 2,
        "blocked": 2,
        "cancelled": 0,
        "overdue": 0,
        "deferred": 0,
        "estimates": [],
        "unreadable": 0,
        "edges": 3,
        "longestChain": ["2", "3", "4"],
        "owners": {"ana": {"pending": 1, "in_progress": 0, "completed": 1}, "ben": {"pending": 0, "in_progress": 1, "completed": 0}},
        "priorities": {"high": 1},
        "tags": {"ops": 1, "web": 1},
        "revision": told["revision"],
    });
    assert_eq!(told, counted);
    test.run("stats").snapshot();
}

#[test]
fn time_spent_is_told_by_task_and_by_agent() {
    let mut test = Test::new().quietly("create one").quietly("create two");
    for line in ["start 1 --as ana", "start 2 --as ben", "release 1 --as ana", "start 1 --as ben"] {
        test = test.quietly(line);
    }
    let spent = test.json("stats --json")["timeSpent"].clone();
    let agents: Vec<_> =
        spent["agents"].as_array().unwrap().iter().map(|agent| (&agent["agent"], &agent["tasks"])).collect();
    assert_eq!(agents, [(&"ana".into(), &1.into()), (&"ben".into(), &2.into())]);
    let one = spent["tasks"].as_array().unwrap().iter().find(|task| task["task"] == "1").unwrap();
    let names: Vec<&String> = one["agents"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["ana", "ben"]);
    assert!(one["seconds"].is_u64());
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
