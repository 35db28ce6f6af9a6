use crate::test::Test;

#[test]
fn a_task_waits_for_others() {
    Test::new().list("1 pending; 2 pending; 3 pending").run("depend 3 --on 1,#2").run("list").snapshot();
}

#[test]
fn a_circle_is_refused_with_the_way_around_it() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 2")
        .run("depend 1 --on 3")
        .run("depend 1 --on 3 --json")
        .run("depend 1 --on 1")
        .run("depend 1 --on 9 --json")
        .run("list")
        .snapshot();
}

#[test]
fn a_circle_of_a_thousand_tasks_is_told_in_one_line() {
    let chain: Vec<String> = (1..=1000)
        .map(|number| if number == 1 { "1 pending".into() } else { format!("{number} pending <- {}", number - 1) })
        .collect();
    let mut test = Test::new().list(&chain.join("; ")).run("depend 1 --on 1000");
    let answer = test.json("depend 1 --on 1000 --json");
    assert_eq!(answer["error"]["path"].as_array().unwrap().len(), 1001);
    test.snapshot();
}

#[test]
fn something_to_wait_for_must_be_named() {
    Test::new().list("1 pending").run("depend 1").snapshot();
}
