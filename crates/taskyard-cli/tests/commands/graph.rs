use crate::test::Test;

const TASKS: &str = "1 completed Design; 2 in_progress (ana) Parser <- 1; 3 pending Docs <- 1; 4 pending \"Ship <it>\" <- 2,3; 5 pending Alone";

#[test]
fn text_draws_each_task_below_what_it_waits_for() {
    Test::new().list(TASKS).run("graph").snapshot();
}

#[test]
fn mermaid_and_dot_are_written_in_their_languages() {
    Test::new().list(TASKS).run("graph --format mermaid").run("graph --format dot").snapshot();
}

#[test]
fn svg_is_one_complete_picture() {
    Test::new().list(TASKS).run("graph --format svg").snapshot();
}

#[test]
fn an_empty_list_has_no_picture_as_text() {
    Test::new().run("graph").run("graph --json").run("graph --format png").snapshot();
}

#[test]
fn parts_stand_below_their_parent() {
    Test::new()
        .list("1 pending Storage; 2 completed; 3 pending Index; 4 pending Rollout <- 1; 5 pending Announce")
        .quietly("update 2,3 --parent 1")
        .quietly("update 5 --parent 4")
        .run("graph")
        .run("graph --format mermaid")
        .run("graph --format dot")
        .run("ready")
        .run("ready --json")
        .run("stats")
        .run("done 3")
        .run("done 1")
        .snapshot();
}
