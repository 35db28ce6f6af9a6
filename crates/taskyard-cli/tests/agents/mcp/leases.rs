//! How long what an agent claimed stays its own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Scale, wait_until};

use crate::mcp::http::Served;
use crate::stdio::{Piped, text};

fn lease(home: &Home) -> Value {
    home.ask("show 1")["lease"].clone()
}

/// Returns in how many seconds the lease ends.
fn ends_in(home: &Home) -> f64 {
    let lease = lease(home);
    let ends: jiff::Timestamp = lease["expiresAt"].as_str().unwrap_or_else(|| panic!("{lease}")).parse().unwrap();
    (ends - jiff::Timestamp::now()).total(jiff::Unit::Second).unwrap()
}

#[test]
fn a_claim_over_pipes_lives_with_the_server_and_a_minute_longer() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let mut server = Piped::start(&home, "--as ana").initialized();
    server.call("TaskClaim", json!({}));
    assert_eq!(lease(&home)["expiresAt"], Value::Null);
    let closed = Instant::now();
    let (status, _) = server.close();
    assert!(status.success());
    // The time counts from its last sign of life, which it leaves every 20 seconds; no process has to write.
    let left = ends_in(&home);
    assert!((40.0 - closed.elapsed().as_secs_f64()..=60.0).contains(&left), "{left}");
    // The same agent finds it again.
    let mut server = Piped::start(&home, "--as ana").initialized();
    assert!(server.call("TaskClaim", json!({})).starts_with("You already have this task.\nTask #1: One"));
    assert_eq!(lease(&home)["expiresAt"], Value::Null);
}

#[test]
fn claims_of_vanished_client_are_released_after_grace() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let mut watching = Piped::start(&home, "--as ben").initialized();
    watching.call("TaskList", json!({}));
    let mut server = Piped::start(&home, "--as ana").initialized();
    server.call("TaskClaim", json!({}));
    for number in 0..20 {
        server.request(
            "tools/call",
            json!({ "name": "TaskCreate", "arguments": { "subject": number.to_string(), "description": "" } }),
        );
    }
    let vanished = Instant::now();
    drop(server);
    wait_until("the end of the lease to be known", || lease(&home)["expiresAt"] != Value::Null);
    assert!(ends_in(&home) <= 60.0);
    if Scale::from_environment(0.01).is_full() {
        wait_until("the task to be free", || home.present()["1"]["status"] == "pending");
        assert!(vanished.elapsed() > Duration::from_secs(55));
    }
}

#[test]
fn a_claim_over_http_lives_for_its_time() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let served = Served::start(&home);
    let answer = served.line("ana").call("TaskClaim", json!({}));
    assert_eq!(answer["isError"], false, "{answer}");
    let left = ends_in(&home);
    assert!((3500.0..=3600.0).contains(&left), "{left}");
    assert_eq!(lease(&home)["agent"], "ana");
}

#[test]
fn busy_teammate_cannot_begin_another_task_by_update() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    let mut command = home.command("mcp --as bob");
    command.env_remove("TASKYARD_LIST");
    let mut server = Piped::spawn(command).initialized();
    for subject in ["One", "Two"] {
        server.call("TaskCreate", json!({ "subject": subject, "description": "" }));
    }
    server.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    let arguments = json!({ "taskId": "2", "status": "in_progress" });
    let answer = server.ask("tools/call", json!({ "name": "TaskUpdate", "arguments": arguments }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let said = text(&answer);
    assert!(
        said.starts_with("Task #2 was not started: you are not finished with #1 One (in_progress, bob)."),
        "{said}"
    );
    assert_eq!(home.ask("show 2 --list alpha")["task"]["status"], "pending");
    server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    server.call("TaskUpdate", arguments);
    assert_eq!(home.ask("show 2 --list alpha")["task"]["owner"], "bob");
}
