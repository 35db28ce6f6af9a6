use crate::test::Test;

#[test]
fn what_was_deleted_comes_back_with_its_edges() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 2")
        .quietly("delete 2 --as ana")
        .run("restore")
        .run("restore --json")
        .run("restore 2")
        .run("list --json")
        .run("restore")
        .snapshot();
}

#[test]
fn what_another_program_removed_comes_back() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .quietly("list")
        .meanwhile(|place| std::fs::remove_dir_all(place.join("home/.claude/tasks/project")).unwrap())
        .run("list")
        .run("restore")
        .run("restore --all")
        .run("list")
        .snapshot();
}

#[test]
fn a_task_that_is_there_needs_no_restoring() {
    Test::new()
        .list("1 pending")
        .run("restore 1")
        .run("restore 9 --json")
        .run("restore --all")
        .run("restore 1 --all")
        .snapshot();
}

#[test]
fn a_number_that_came_back_is_not_given_out_twice() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("delete 2")
        .quietly("create three")
        .run("restore 2")
        .run("list")
        .snapshot();
}
