use crate::test::Test;

#[test]
fn a_task_given_back_is_pending_and_nobodys() {
    Test::new()
        .strict()
        .list("1 pending; 2 in_progress (ben); 3 completed")
        .quietly("claim 1 --as ana")
        .run("release 1 --as ben")
        .run("release 1 --as ana --token 5")
        .run("release 1 --as ana")
        .run("release 1 --as ana --json")
        .run("release 2 --as ana --json")
        .run("release 3")
        .run("release 9")
        .run("list")
        .snapshot();
}

#[test]
fn an_agent_that_is_gone_leaves_everything_in_one_revision() {
    Test::new()
        .list("1 in_progress (bob) \"Fix the bug\"; 2 pending (bob@team) \"Write tests\"; 3 completed (bob); 4 in_progress (bobby)")
        .run("release --agent bob --reason terminated --json")
        .run("history --json --since 1")
        .run("list --style client")
        .run("release --agent bob --json")
        .run("release --agent bob")
        .run("release --agent bob@team --reason shutdown")
        .run("release --agent bob --reason boredom")
        .run("release")
        .snapshot();
}

#[test]
fn people_are_told_in_their_words_what_came_back() {
    Test::new()
        .list("1 in_progress (bob) \"Fix the bug\"; 2 pending (bob) \"Write tests\"; 3 in_progress (eve)")
        .run("release --agent bob")
        .run("release --agent eve --reason terminated")
        .run("release --agent eve")
        .on_terminal(40, "release --agent eve", "")
        .snapshot();
}

#[test]
fn several_tasks_are_given_back_in_one_revision_or_none_is() {
    Test::new()
        .list("1 pending; 2 pending; 3 completed; 4 pending")
        .quietly("claim 1 2 --as ana")
        .run("release 1 3 --as ana")
        .run("release 1-3 --keep-going --as ana")
        .run("release --where owner:ana --json")
        .run("release 1 4 --json")
        .snapshot();
}
