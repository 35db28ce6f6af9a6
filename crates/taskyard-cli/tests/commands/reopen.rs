use crate::test::Test;

#[test]
fn reopening_names_what_was_already_started() {
    Test::new()
        .list("1 completed; 2 in_progress <- 1; 3 pending <- 1")
        .run("reopen 1")
        .run("list")
        .run("history")
        .snapshot();
}

#[test]
fn a_cancelled_task_can_be_taken_up_again() {
    Test::new().list("1 pending").quietly("cancel 1").run("reopen 1 --json").snapshot();
}

#[test]
fn what_is_reopened_has_no_owner_and_any_agent_can_take_it() {
    Test::new()
        .list("1 pending")
        .quietly("claim 1 --as ana")
        .quietly("done 1 --as ana")
        .run("reopen 1 --as ben")
        .run("claim 1 --as ben")
        .quietly("done 1 --as ben")
        .run("update 1 --status pending --as ana --json")
        .run("claim --next --as cem --json")
        .snapshot();
}

#[test]
fn an_owner_who_keeps_what_is_reopened_has_a_lease_on_it_again() {
    Test::new()
        .list("1 completed (ana); 2 completed (ana); 3 completed")
        .run("reopen 1 --keep-owner --as ben")
        .run("claim 1 --as ben")
        .run("done 1 --as ana --token 1")
        .run("reopen 2 --keep-owner --json")
        .run("reopen 3 --keep-owner --json")
        .snapshot();
}

#[test]
fn reopening_frees_a_task_in_client_rules_and_other_stores_too() {
    for store in ["claude:", "document:tasks.json", "teaching:tasks"] {
        for rules in ["strict", "client"] {
            let mut test = Test::new().env("TASKYARD_STORE", store).env("TASKYARD_RULES", rules);
            let id = test.json("create one --json")["task"]["id"].as_str().unwrap().to_owned();
            let test = test.quietly(&format!("claim {id} --as ana")).quietly(&format!("done {id} --as ana"));
            let mut test = test.quietly(&format!("reopen {id} --as ana"));
            let claimed = test.json(&format!("claim {id} --as ben --json"));
            assert_eq!(
                (&claimed["claimed"], &claimed["task"]["owner"]),
                (&true.into(), &"ben".into()),
                "{store} {rules}"
            );
        }
    }
}

#[test]
fn of_several_one_that_is_open_already_is_left_as_it_is() {
    Test::new().list("1 completed; 2 pending").run("reopen 1 2").run("reopen --where ''").snapshot();
}
