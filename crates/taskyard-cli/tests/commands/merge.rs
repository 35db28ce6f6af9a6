use crate::test::Test;

#[test]
fn tasks_move_with_new_numbers_and_their_edges() {
    Test::new()
        .list_named("from", "1 pending; 2 completed; 3 pending <- 1,2")
        .list_named("into", "1 pending; 5 pending")
        .run("merge from into")
        .run("list --list into")
        .run("list --list from")
        .snapshot();
}

#[test]
fn only_what_is_open_can_move() {
    Test::new()
        .list_named("from", "1 completed; 2 pending <- 1")
        .run("merge from into --open --json")
        .run("list --list from")
        .snapshot();
}

#[test]
fn a_list_that_is_not_there_cannot_be_merged() {
    Test::new()
        .list("1 pending")
        .run("merge nowhere project")
        .run("merge project project")
        .run("merge nowhere project --json")
        .snapshot();
}

#[test]
fn the_way_back_that_is_told_leads_back() {
    Test::new()
        .list_named("from", "1 pending; 2 pending <- 1")
        .list_named("into", "1 pending; 2 pending")
        .quietly("merge from into")
        .run("undo --list into")
        .run("undo --list from")
        .run("list --list into")
        .run("list --list from")
        .snapshot();
}
