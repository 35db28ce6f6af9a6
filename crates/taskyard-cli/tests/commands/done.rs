use crate::test::Test;

#[test]
fn completing_a_task_tells_what_can_start_now() {
    Test::new()
        .list("1 in_progress; 2 pending \"Write docs\" <- 1; 3 pending (bob) <- 1; 4 pending <- 3")
        .run("done 1")
        .run("list")
        .snapshot();
}

#[test]
fn json_names_what_is_now_ready() {
    Test::new().list("1 pending; 2 pending <- 1").run("done 1 --json").snapshot();
}

#[test]
fn open_blockers_are_named_and_do_not_stand_in_the_way() {
    Test::new().list("1 pending; 2 pending <- 1").run("done 2").run("done 2 --json").snapshot();
}

#[test]
fn an_edge_that_only_the_waiting_task_knows_of_counts() {
    let test = Test::new().list("1 pending; 2 pending");
    let file = test.path("home/.claude/tasks/project/2.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"blockedBy\": []", "\"blockedBy\": [\"1\"]");
    std::fs::write(&file, text).unwrap();
    test.run("done 1").snapshot();
}

#[test]
fn many_tasks_that_can_start_now_are_counted_rather_than_named() {
    let waiting: String = (2..=30).map(|number| format!("; {number} pending <- 1")).collect();
    Test::new().list(&format!("1 pending{waiting}")).run("done 1").snapshot();
}

#[test]
fn a_task_with_open_parts_is_finished_with_them_or_by_force() {
    Test::new()
        .list("1 pending \"Release\"; 2 pending; 3 pending <- 1")
        .quietly("update 2 --parent 1")
        .quietly("create Notes --parent 1")
        .run("done 1")
        .run("done 1 --json")
        .run("update 1 --status completed")
        .run("cancel 1")
        .run("done 1 2 4 --json")
        .run("undo")
        .run("cancel 1 --with-parts")
        .run("undo")
        .run("done 1 --force")
        .snapshot();
}
