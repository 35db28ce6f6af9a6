use crate::test::Test;

#[test]
fn the_newest_revision_is_taken_back() {
    Test::new()
        .quietly("create one")
        .quietly("update 1 --subject uno")
        .run("undo")
        .run("list")
        .run("undo")
        .run("list")
        .run("undo")
        .snapshot();
}

#[test]
fn a_range_is_taken_back_at_once() {
    Test::new()
        .quietly("create one")
        .quietly("start 1")
        .quietly("done 1")
        .run("undo 2..3 --json")
        .run("list")
        .run("history")
        .snapshot();
}

#[test]
fn a_task_that_changed_since_is_refused() {
    Test::new()
        .quietly("create one")
        .quietly("update 1 --subject two")
        .quietly("update 1 --subject three")
        .run("undo 2")
        .run("undo 2 --json")
        .run("undo 9")
        .run("undo 5..2")
        .run("list")
        .snapshot();
}
