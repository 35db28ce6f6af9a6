use crate::test::Test;

#[test]
fn a_task_is_shown_with_what_surrounds_it() {
    Test::new()
        .list("1 completed; 2 pending; 3 in_progress (ana) \"Write it\" <- 1,2; 4 pending <- 3")
        .quietly("create Part --parent 3")
        .quietly("update 3 -d 'First line\nsecond line' --priority low --meta 'note=\"x\"' --as ben")
        .run("show 3")
        .run("show '#3' --json")
        .snapshot();
}

#[test]
fn a_task_that_is_not_there_is_not_found() {
    Test::new().list("1 pending").run("show 9").run("show 9 --json").snapshot();
}

#[test]
fn an_id_that_could_leave_the_directory_is_wrong_usage() {
    Test::new().list("1 pending").run("show ../../x").run("show ../../x --json").run("show ''").snapshot();
}

#[test]
fn a_task_says_who_made_it_and_in_which_revision() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("create two --blocked-by 1 --as ben")
        .run("show 1")
        .run("show 2")
        .quietly("delete 2 --as eve")
        .quietly("restore 2 --deleted --as eve")
        .run("show 2")
        .list("7 pending 'From elsewhere'")
        .quietly("list")
        .run("show 7")
        .run("show 2 --json")
        .snapshot();
}
