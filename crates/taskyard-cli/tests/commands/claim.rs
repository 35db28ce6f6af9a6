use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use taskyard_testkit::{Program, is_once_within};

use crate::test::Test;

#[test]
fn a_claim_gives_owner_status_token_and_time() {
    Test::new()
        .strict()
        .list("1 pending \"Write the parser\"")
        .run("claim 1 --as ana")
        .run("claim 1 --as ana --json")
        .run("show 1 --json")
        .snapshot();
}

#[test]
fn every_refusal_has_its_reason() {
    Test::new()
        .strict()
        .list("1 pending; 2 pending <- 1; 3 completed; 4 in_progress (ben); 5 pending (ana)")
        .run("claim 9 --as ana")
        .run("claim 9 --as ana --json")
        .run("claim 4 --as ana")
        .run("claim 4 --as ana --json")
        .run("claim 3 --as ana")
        .run("claim 3 --as ana --json")
        .run("claim 2 --as ana")
        .run("claim 2 --as ana --json")
        .run("claim 1 --as ana --if-idle")
        .run("claim 1 --as ana --if-idle --json")
        .snapshot();
}

#[test]
fn next_resumes_what_was_begun_and_then_takes_the_best() {
    Test::new()
        .strict()
        .list("1 pending; 2 pending; 3 pending <- 2; 4 pending (ana)")
        .quietly("update 1 --priority low")
        .run("claim --next --as ana")
        .run("claim --next --as ana --json")
        .run("claim --next --as ben")
        .run("claim --next --as cy")
        .run("claim --next --as dee")
        .run("claim --next --as dee --json")
        .snapshot();
}

#[test]
fn a_reservation_names_the_owner_and_begins_nothing() {
    Test::new()
        .list("1 pending")
        .run("claim 1 --reserve --as ana --json")
        .run("start 1 --as ana")
        .run("list")
        .snapshot();
}

#[test]
fn in_the_clients_rules_a_claim_only_writes_the_owner() {
    Test::new().list("1 pending").run("claim 1 --as ana --rules client --json").snapshot();
}

#[test]
fn a_task_can_say_who_may_take_it() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("update 1 --meta assignable_to='[\"role:review\"]'")
        .quietly("update 2 --meta _internal=true")
        .run("claim 1 --as ana")
        .run("claim 1 --as ana --json")
        .run("claim 2 --as ana")
        .run("claim --next --as ana")
        .run("claim --next --as ana --role build --json")
        .run("ready")
        .run("claim --next --as rita --role review")
        .snapshot();
}

#[test]
fn a_limit_and_roles_come_from_the_configuration() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending")
        .quietly("update 3 --meta assignable_to='\"role:review\"'")
        .file(
            "home/.config/taskyard/taskyard.toml",
            "[claims]\nlease = \"10m\"\nlimit = 1\nroles = { rita = [\"review\"] }\n",
        )
        .quietly("claim 1 --as ana")
        .run("claim 2 --as ana")
        .run("claim 1 --as ana")
        .run("claim 3 --as rita")
        .snapshot();
}

#[test]
fn what_somebody_works_on_is_left_to_them() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("claim 1 --as ana")
        .run("done 1 --as ben")
        .run("update 1 --subject x --as ben --json")
        .run("delete 1 --as ben")
        .run("clear --as ben")
        .run("update 1 --subject x --as ben --rules client")
        .run("done 1 --token 7 --as ana")
        .run("done 1 --token 1 --as somebody")
        .run("done 1 --token 1 --as ana --json")
        .quietly("claim 2 --as ana")
        .run("cancel 2 --as ben --force")
        .snapshot();
}

#[test]
fn a_lease_that_ran_out_gives_the_task_back_with_a_notice() {
    let mut test = Test::new().list("1 pending \"Write the parser\"; 2 pending");
    test.json("claim 1 --as bob --ttl 1ms --json");
    test.json("claim 2 --as bob@team --ttl 1ms --json");
    test.run("list").run("history 1 --json").run("done 1 --token 1 --as bob").run("claim 1 --as ana").snapshot();
}

#[test]
fn a_lease_lives_with_a_process() {
    let mut test = Test::new().list("1 pending; 2 pending");
    let mut process = Program::new("sleep").arg("600").start();
    let claimed = test.json(&format!("claim 1 --as ana --pid {} --json", process.id()));
    assert_eq!((&claimed["claimed"], &claimed["expiresAt"]), (&json!(true), &json!(null)));
    assert_eq!(test.json("claim 1 --as ben --json")["reason"], json!("already_claimed"));
    process.signal(Signal::KILL);
    // It was not reaped yet: it is a zombie, and dead all the same.
    let taken = loop {
        let answer = test.json("claim 1 --as ben --json");
        if answer["claimed"] == json!(true) {
            break answer;
        }
    };
    assert_eq!(taken["token"], json!(2));
    process.wait();
    test.run(&format!("claim 2 --as ana --pid {}", 2_000_000_000)).snapshot();
}

#[test]
fn waiting_ends_with_the_time_or_with_something_to_do() {
    let test = Test::new().list("1 in_progress; 2 pending <- 1");
    let command = |line: &str| {
        let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
        command.args(line.split(' '));
        command
    };
    let waiting = command("claim --next --wait --as ana --json").stdout(std::process::Stdio::piped()).start();
    let in_vain = command("claim --next --wait --timeout 50ms --as ben --json").output();
    assert_eq!(in_vain.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&in_vain.stdout).contains("\"nothing_ready\""));
    assert!(command("done 1").status().success());
    let output = waiting.wait_with_output();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["claimed"], &answer["task"]["id"]), (&json!(true), &json!("2")));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    Test::new()
        .list("1 pending")
        .run("claim")
        .run("claim 1 --next")
        .run("claim 1 --wait")
        .run("claim 1 --ttl soon")
        .snapshot();
}

#[test]
fn two_clients_on_one_machine_are_two_agents() {
    Test::new()
        .list("1 pending; 2 pending")
        .env("CLAUDE_CODE_TASK_LIST_ID", "project")
        .env("CLAUDE_CODE_SESSION_ID", "11111111-aaaa")
        .run("claim --next --json")
        .env("CLAUDE_CODE_SESSION_ID", "22222222-bbbb")
        .run("claim --next --json")
        .snapshot();
}

#[test]
fn unnamed_agent_gets_unowned_task_and_is_told_of_others() {
    Test::new()
        .list("1 pending One; 2 pending Two; 3 pending Three")
        .run("claim --next")
        .run("claim --next")
        .run("claim --next --json")
        .run("claim --next")
        .run("claim --next --json")
        .run("claim 2")
        .snapshot();
}

#[test]
fn only_a_name_that_was_given_is_a_reason_to_resume() {
    let given = [("TASKYARD_AGENT", "ana", true), ("TASKYARD_SESSION_AGENT", "ana", false)];
    for (variable, agent, resumes) in given {
        let mut test = Test::new().list("1 pending; 2 pending").env(variable, agent);
        let first = test.json("claim --next --json");
        assert_eq!((&first["agent"], &first["task"]["owner"]), (&agent.into(), &agent.into()), "{variable}");
        let second = test.json("claim --next --json");
        assert_eq!((second["resumed"].as_bool(), second["task"]["id"] == "1"), (Some(resumes), resumes), "{variable}");
        assert_eq!(second["alsoHeld"].is_array(), !resumes, "{second}");
    }
    // Where both are set the name that was given counts, and it is a reason to resume.
    let both = Test::new().list("1 pending; 2 pending").env("TASKYARD_SESSION_AGENT", "zoe");
    let mut both = both.env("CLAUDE_CODE_SESSION_ID", "5ce1ab1e-1111-2222").env("TASKYARD_AGENT", "ana");
    for resumed in [false, true] {
        let claimed = both.json("claim --next --json");
        assert_eq!((&claimed["agent"], &claimed["resumed"]), (&"ana".into(), &resumed.into()), "{claimed}");
        assert_eq!((&claimed["task"]["id"], claimed.get("alsoHeld")), (&"1".into(), None), "{claimed}");
    }
    // The flag beats the variable, the variable of the session beats the session itself.
    let mut test = Test::new().list("1 pending; 2 pending").env("TASKYARD_SESSION_AGENT", "ana");
    let mut test = {
        assert_eq!(test.json("claim 1 --as ben --json")["agent"], "ben");
        test.env("CLAUDE_CODE_SESSION_ID", "5ce1ab1e-1111-2222")
    };
    assert_eq!(test.json("claim 2 --json --list project")["agent"], "ana");
}

#[test]
fn unnamed_work_leaves_tasks_of_that_login_alone() {
    let test = Test::new().list("1 pending; 2 pending").quietly("claim 1");
    let mut test = test.quietly("work -- true");
    let tasks = test.json("list --all --json")["tasks"].clone();
    let status = |id: &str| tasks.as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()["status"].clone();
    assert_eq!((status("1"), status("2")), ("in_progress".into(), "completed".into()));
}

#[test]
fn a_task_with_open_parts_is_no_work_and_its_parts_wait_with_it() {
    Test::new()
        .list("1 pending \"Schema\"; 2 pending \"Release\" <- 1")
        .quietly("create Notes --parent 2")
        .run("claim 3 --as ana")
        .run("claim 3 --as ana --json")
        .run("start 3 --json")
        .run("list")
        .run("done 1 --json")
        .run("ready")
        .run("claim --next --as ana")
        .run("claim --next --as ben")
        .run("done 3 --as ana --json")
        .run("claim --next --as ben")
        .snapshot();
}

#[test]
fn several_tasks_are_claimed_in_one_revision_or_none_is() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending <- 2; 4 pending (ben); 5 pending")
        .quietly("update 5 --tag db")
        .run("claim 1-3 --as ana")
        .run("claim 1-4 --as ana --json")
        .run("list")
        .run("claim 1-4 9 --as ana --keep-going")
        .run("claim --where tag:db --as ana --json")
        .run("claim 3 9 --as ana --keep-going --json")
        .run("claim --where tag:none --as ana")
        .snapshot();
}

#[test]
fn the_next_task_can_be_chosen_from_those_of_a_query() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending")
        .quietly("update 2 --tag db")
        .run("claim --next --where tag:db --as ana --quiet")
        .run("claim --next --where tag:db --as ben")
        .run("claim --next --where 'tag:' --as ben")
        .run("claim 1 --next --as ben")
        .snapshot();
}

#[test]
fn waiting_agent_wakes_when_a_deferred_task_is_due() {
    let refused = Test::new().quietly("create later --defer 1h").json("claim --next --as ben --json");
    assert_eq!((&refused["reason"], refused["nextAt"].is_string()), (&"nothing_ready".into(), true));
    is_once_within(Duration::from_secs(20), "a deferral of two seconds", || {
        let started = Instant::now();
        let mut test = Test::new().quietly("create later --defer 2s");
        let claimed = test.json("claim --next --wait --timeout 5m --as ana --json");
        assert_eq!(claimed["task"]["id"], "1", "{claimed}");
        assert!(started.elapsed() >= Duration::from_secs(2), "woken before its moment");
        started.elapsed()
    });
}
