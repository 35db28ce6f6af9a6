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
fn the_actors_own_newest_revision_is_taken_back() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("create two --as ana")
        .quietly("update 1 --subject uno --as ana")
        .quietly("done 2 --as bot")
        .run("undo --as ana")
        .run("undo --as cleo")
        .run("undo --as cleo --json")
        .run("list")
        .run("undo --anyone --as cleo --json")
        .run("undo 4 --as ana")
        .run("undo 4 --as ana --json")
        .run("undo --anyone 4")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn a_terminal_asks_about_what_another_did_lately() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("done 1 --as bot")
        .on_terminal(100, "undo 2 --as ana", "n\n")
        .on_terminal(100, "undo --anyone --as ana", "y\n")
        .on_terminal(100, "undo 3 --as ana", "")
        .on_terminal(100, "undo 2 --as ana --yes", "")
        .snapshot();
}

#[test]
fn later_changes_are_named_and_a_range_offered() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("create two --as ana")
        .quietly("update 2 --subject due --as bot")
        .quietly("update 1 --subject uno --as ana")
        .quietly("update 2 --subject duo --as ana")
        .run("undo 3 --as bot")
        .run("undo r3..r5 --as bot")
        .run("list")
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
