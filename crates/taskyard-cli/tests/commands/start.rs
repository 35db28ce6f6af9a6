use crate::test::Test;

#[test]
fn a_task_with_nothing_before_it_starts() {
    Test::new().strict().list("1 pending").run("start 1").run("list").run("start 1").snapshot();
}

#[test]
fn a_blocked_task_is_refused_and_the_blockers_are_named() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending <- 1,2")
        .run("start 3")
        .run("start 3 --json")
        .run("list")
        .snapshot();
}

#[test]
fn in_the_clients_rules_a_blocked_task_starts() {
    Test::new().list("1 pending; 2 pending <- 1").run("start 2 --rules client").snapshot();
}

#[test]
fn several_tasks_start_in_one_revision_or_none_does() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending; 4 pending <- 3; 5 completed")
        .run("start 1 2 3")
        .run("list")
        .run("start 1-4 --keep-going")
        .run("start --where ready")
        .run("history --json --since 1")
        .snapshot();
}

#[test]
fn who_starts_a_task_owns_it() {
    Test::new()
        .list("1 pending; 2 pending")
        .run("start 1 --as ana")
        .run("start 1 --as ben")
        .run("start 1 --as ben --json")
        .run("claim 1 --as ben --json")
        .run("list --mine --as ana")
        .run("update 2 --status in_progress --owner cleo --as ana --json")
        .run("start 1 --as ben --force")
        .run("release 1 --as ben")
        .run("list")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_owns_without_a_lease() {
    Test::new()
        .list("1 pending")
        .on_terminal(100, "start 1 --as ana", "")
        .run("show 1 --json")
        .run("start 1 --as bot")
        .run("start 1 --as bot --json")
        .run("claim 1 --as bot")
        .snapshot();
}
