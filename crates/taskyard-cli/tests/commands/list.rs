use crate::test::Test;

const TASKS: &str =
    "1 completed; 2 pending (ana) \"Write docs\" <- 1; 3 pending <- 2,4; 4 in_progress (ben) Deploy; 10 pending";

#[test]
fn a_pipe_gets_the_clients_lines_in_the_clients_order() {
    Test::new().list(TASKS).run("list").snapshot();
}

#[test]
fn an_empty_list_says_what_the_client_says() {
    Test::new().run("list").run("list --json").snapshot();
}

#[test]
fn json_is_the_native_shape_with_counts() {
    Test::new().list("1 completed; 2 pending (ana) <- 1").run("list --json").snapshot();
}

#[test]
fn filters_choose_tasks() {
    Test::new()
        .list(TASKS)
        .run("list --status pending")
        .run("list --status in-progress,completed")
        .run("list --owner ana")
        .run("list --mine --as ben")
        .run("list --ready")
        .run("list --blocked")
        .run("list --tag none")
        .snapshot();
}

#[test]
fn internal_tasks_are_hidden_unless_asked_for() {
    Test::new()
        .list("1 pending")
        .task_file("2.json", r#"{"id":"2","subject":"bob","description":"","status":"in_progress","blocks":[],"blockedBy":[],"metadata":{"_internal":true}}"#)
        .run("list")
        .run("list --all")
        .run("list --json")
        .snapshot();
}

#[test]
fn tree_shows_parts_below_tasks_and_folds_completed() {
    Test::new()
        .strict()
        .list("1 completed; 2 completed; 3 completed; 4 completed; 5 completed; 6 completed; 7 completed; 8 in_progress (ana)")
        .quietly("create Part --parent 8 --priority high --tag web")
        .quietly("create 'Other part' --parent 8 --blocked-by 9")
        .run("list --style tree")
        .run("list --style flat")
        .run("list --style tree --all")
        .run("list --style tree --status completed")
        .run("list --style tree --color always")
        .snapshot();
}

#[test]
fn unknown_states_and_styles_are_wrong_usage() {
    Test::new().run("list --status finito").run("list --style fancy").run("list --owner a --mine").snapshot();
}

#[test]
fn the_clients_rules_show_the_id_that_is_written_in_the_file() {
    Test::new()
        .task_file(
            "7.json",
            r#"{"id":"77","subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}"#,
        )
        .run("list --rules client")
        .run("list")
        .run("show 7")
        .snapshot();
}

#[test]
fn a_parent_shows_how_far_its_parts_are() {
    Test::new()
        .list("1 pending \"Release\"; 2 pending; 3 pending; 4 pending")
        .quietly("update 2 --parent 1")
        .quietly("update 3 --parent 1")
        .quietly("update 4 --parent 1")
        .quietly("done 2")
        .run("list")
        .run("list --style flat")
        .run("list --ready --json")
        .run("list --rules client")
        .run("list --status pending --json")
        .snapshot();
}

#[test]
fn a_query_chooses_tasks_from_one_argument_or_several() {
    Test::new()
        .list(TASKS)
        .quietly("update 3 --priority high --tag db,old")
        .quietly("update 10 --parent 4 --tag db")
        .run("list status:pending owner:ana")
        .run("list tag:db not tag:old")
        .run("list 'tag:db -tag:old'")
        .run("list -tag:old status:open")
        .run("list priority:high or owner:ben")
        .run("list '(tag:old or owner:ana) status:pending'")
        .run("list parent:4")
        .run("list --parent 4")
        .run("list --priority high")
        .run("list ready")
        .run("list blocked")
        .run("list 'Write docs'")
        .run("list docs Write")
        .run("list id:2-4 --json")
        .snapshot();
}

#[test]
fn a_query_knows_when_tasks_were_made_and_changed() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("update 2 --subject Later")
        .run("list changed:1h")
        .run("list older:1h")
        .run("list 'age<1h'")
        .run("list 'not changed<1h'")
        .snapshot();
}

#[test]
fn a_mistake_in_a_query_is_marked_with_what_was_meant() {
    Test::new()
        .list("1 pending")
        .run("list status:pending prio:high")
        .run("list status:pendign --json")
        .run("list '(tag:a or'")
        .run("list older:soon")
        .run("list https://example.org")
        .run("list --stauts pending")
        .run("list -x")
        .run("list --sort prority")
        .run("list --format '{id} {sbject}'")
        .snapshot();
}

#[test]
fn a_list_can_be_sorted_cut_and_written_by_a_template() {
    Test::new()
        .list("1 pending Zebra; 2 pending Ant (ana); 3 completed Bee; 4 in_progress Cat")
        .quietly("update 3 --priority high")
        .run("list --sort subject")
        .run("list --sort -id --limit 2")
        .run("list --sort priority,-subject -n 3 --json")
        .run(r"list --format '{id}\t{subject} ({owner}) {priority} {status}' --sort id")
        .run("list --format '{list}/{id} {metadata.priority}' status:completed")
        .run("list --sort subject --style flat")
        .snapshot();
}

#[test]
fn status_words_and_operators_mean_what_they_say() {
    Test::new()
        .list("1 completed Open; 2 pending (ana) <- 3; 3 in_progress; 4 pending")
        .quietly("update 4 --tag ops --due 2020-01-02")
        .quietly("update 1 --due 2020-01-02")
        .run("list done")
        .run("list open")
        .run("list 'not open'")
        .run("list -blocked -done")
        .run("list '!blocked tag!=ops'")
        .run("list 'done || tag=ops'")
        .run("list 'pending && no:owner'")
        .run("list '\"open\"'")
        .run("list 'due<2020-02-01'")
        .run("list 'due<2020-02-01' --status completed")
        .run("list 'R&D'")
        .run("list 'not(blocked'")
        .run("list due:soon")
        .snapshot();
}
