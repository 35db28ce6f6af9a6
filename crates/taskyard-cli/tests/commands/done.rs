use crate::test::Test;

#[test]
fn completing_a_task_tells_what_can_start_now() {
    Test::new()
        .list("1 in_progress; 2 pending \"Write docs\" <- 1; 3 pending <- 1; 4 pending <- 3")
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
