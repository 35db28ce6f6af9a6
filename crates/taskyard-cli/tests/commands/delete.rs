use crate::test::Test;

#[test]
fn several_tasks_go_in_one_revision_with_their_edges() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 1,2")
        .run("delete 1 2")
        .run("show 3 --json")
        .run("undo")
        .run("list")
        .snapshot();
}

#[test]
fn parts_stand_where_the_deleted_task_stood_or_go_with_it() {
    Test::new()
        .list("1 pending \"Release\"; 2 pending \"Docs\"; 3 pending \"Notes\"; 4 pending \"Guide\"")
        .quietly("update 2 --parent 1")
        .quietly("update 3 --parent 2")
        .quietly("update 4 --parent 2")
        .run("delete 2")
        .run("list --style tree")
        .run("undo")
        .run("list --style tree")
        .run("delete 2 --json")
        .run("undo")
        .run("delete 1 --with-parts")
        .run("list")
        .run("undo")
        .run("list --style tree")
        .snapshot();
}

#[test]
fn several_tasks_are_deleted_by_range_and_query() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending; 5 completed")
        .run("delete 1-2 9")
        .run("delete 1-2 9 --keep-going")
        .run("delete 9 --keep-going --json")
        .run("delete --where status:completed --json")
        .run("list")
        .snapshot();
}

#[test]
fn a_query_deletes_what_it_says_and_a_rehearsal_nothing() {
    Test::new()
        .list("1 pending; 2 pending; 3 completed; 4 in_progress")
        .run("delete --where 'not open' --dry-run")
        .run("delete --where 'not open' --dry-run --json")
        .run("delete 2 9 --dry-run")
        .run("delete --where 'not open'")
        .run("list")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn a_person_is_asked_before_a_query_deletes_many() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending; 5 pending; 6 pending; 7 completed")
        .on_terminal(60, "delete --where open", "n\n")
        .on_terminal(60, "cancel --where open", "\n")
        .run("list")
        .on_terminal(60, "delete --where done", "")
        .on_terminal(60, "done --where open", "y\n")
        .on_terminal(60, "delete --where done --yes", "")
        .run("list")
        .snapshot();
}
