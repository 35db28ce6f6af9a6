//! Places that cannot be used: each is a clear word, and nothing is created.

use crate::nobody::{open_up, permit, run_as_nobody, take_back};
use crate::test::Test;

#[test]
fn a_home_that_is_not_set_is_told_of_and_nothing_is_created() {
    Test::new().without("HOME").without("TASKYARD_HOME").run("list").run("create x --json").snapshot();
}

#[test]
fn a_home_that_does_not_exist_is_told_of_and_not_created() {
    let test = Test::new();
    let missing = test.path("nowhere");
    let test =
        test.env("HOME", missing.as_os_str()).without("TASKYARD_HOME").run("create x").run("where --json").run("use x");
    assert!(!missing.exists());
    test.snapshot();
}

#[test]
fn without_a_home_a_store_elsewhere_still_works() {
    Test::new()
        .without("HOME")
        .run("create x --store file:here --json")
        .run("where --store file:here --quiet")
        .snapshot();
}

#[test]
fn an_id_or_list_that_could_leave_its_directory_stays_inside() {
    let test = Test::new()
        .run("create inside --list ../../x --json")
        .run("update ../../x --subject y")
        .run("delete /etc/passwd --json")
        .run(&format!("create x --list {} --json", "n".repeat(300)));
    assert!(test.path("home/.claude/tasks/------x/1.json").exists());
    test.snapshot();
}

#[test]
fn a_list_that_cannot_be_written_is_told_of_and_unchanged() {
    let mut test = Test::new().list("1 pending");
    permit(&test, "home/.claude/tasks/project", 0o555);
    for arguments in ["create x", "done 1", "list", "done 1 --json"] {
        run_as_nobody(&mut test, arguments);
    }
    permit(&test, "home/.claude/tasks/project", 0o755);
    test.run("list").snapshot();
}

#[test]
fn read_only_data_directory_does_not_prevent_reading() {
    let mut test = Test::new().list("1 pending");
    open_up(test.path(".").as_path());
    permit(&test, "data", 0o555);
    take_back(&test.path("data"));
    for arguments in ["list", "list --json", "show 1", "doctor", "create x"] {
        run_as_nobody(&mut test, arguments);
    }
    test.snapshot();
}

#[test]
fn a_task_that_cannot_be_opened_is_told_of() {
    let mut test = Test::new().list("1 pending; 2 pending");
    permit(&test, "home/.claude/tasks/project/2.json", 0o000);
    for arguments in ["list", "show 2"] {
        run_as_nobody(&mut test, arguments);
    }
    test.snapshot();
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_changes_nothing() {
    let mut test = Test::new().list("1 pending");
    for arguments in ["create x", "done 1 --json"] {
        let script = format!("ulimit -f 0; exec {} {arguments}", env!("CARGO_BIN_EXE_taskyard"));
        let output = test.command("/bin/sh").args(["-c", &script]).output();
        test.note(&format!("taskyard {arguments}"), &output);
    }
    test.run("list").run("doctor").snapshot();
}
