//! Calls that take long: they tell that they are still at it, and end when they are no longer wanted.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use taskyard::liveness::mark_of;
use taskyard_testkit::{Home, wait_until};

use crate::mcp::http::Served;
use crate::stdio::Piped;

/// A home with a hook that says its process id and then takes for ever.
fn home_with_slow_hook() -> (Home, PathBuf) {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let pid = home.path().join("pid");
    let command = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", pid.display());
    let settings = json!({ "hooks": { "TaskCompleted": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    fs::write(home.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    home.run("create One");
    (home, pid)
}

fn running(pid: &PathBuf) -> bool {
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    mark_of(pid).is_some()
}

#[test]
fn waiting_call_reports_progress_and_cancel_ends_its_hook() {
    let (home, pid) = home_with_slow_hook();
    let mut server = Piped::start(&home, "").initialized();
    let complete = json!({
        "name": "TaskUpdate",
        "arguments": { "taskId": "1", "status": "completed" },
        "_meta": { "progressToken": "p", "taskyard/callId": "c" },
    });
    let id = server.request("tools/call", complete);
    let mut progress = 0.0;
    while progress < 2.0 {
        let message = server.message().unwrap();
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "p");
            let told = message["params"]["progress"].as_f64().unwrap();
            assert!(told > progress);
            progress = told;
        }
    }
    assert!(running(&pid));
    // Others are served meanwhile.
    assert_eq!(server.call("TaskList", json!({})), "#1 [pending] One");
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    wait_until("the hook goes on", || !running(&pid));
    assert_eq!(server.call("TaskList", json!({})), "#1 [pending] One");
    assert!(server.close().0.success());
}

#[test]
fn a_client_that_leaves_in_mid_call_leaves_no_hook_behind() {
    let (home, pid) = home_with_slow_hook();
    let mut server = Piped::start(&home, "").initialized();
    server
        .request("tools/call", json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "status": "completed" } }));
    wait_until("the hook does not run", || pid.exists());
    assert!(server.close().0.success());
    assert!(!running(&pid));
    assert_eq!(home.present()["1"]["status"], "pending");
}

#[test]
fn server_stopped_in_mid_call_leaves_no_hook_behind() {
    let (home, pid) = home_with_slow_hook();
    let mut server = Piped::start(&home, "").initialized();
    server
        .request("tools/call", json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "status": "completed" } }));
    wait_until("the hook does not run", || pid.exists());
    let process = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    while server.message().is_some() {}
    assert_eq!(server.close().0.code(), Some(143));
    assert!(!running(&pid));
    assert_eq!(home.present()["1"]["status"], "pending");
}

#[test]
fn cancelled_wait_reports_progress_and_job_goes_on() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "--allow-exec").initialized();
    server.call("TaskRun", json!({ "command": "sleep 600" }));
    let job = home.ask("job list")["jobs"][0]["id"].as_str().unwrap().to_owned();
    let wait = json!({
        "name": "TaskOutput",
        "arguments": { "task_id": job, "timeout": 600_000 },
        "_meta": { "progressToken": "p" },
    });
    let id = server.request("tools/call", wait);
    while server.message().unwrap()["method"] != "notifications/progress" {}
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    // A server whose calls have ended ends at once; one that still waits is given up on after some seconds.
    assert_eq!(server.call("TaskList", json!({})), "No tasks found");
    assert!(server.close().0.success());
    assert_eq!(home.ask("job list")["jobs"][0]["status"], "running");
    assert_eq!(home.run(&format!("job stop {job}")).code, Some(0));
}

#[test]
fn waits_over_http_end_with_their_connections() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("job run -- sleep 600");
    let job = home.ask("job list")["jobs"][0]["id"].as_str().unwrap().to_owned();
    let served = Served::start(&home);
    // More than can wait at once, in both generations of the protocol.
    for number in 0..80 {
        let has_session = number % 8 > 0;
        let mut line = if has_session { served.session("ana") } else { served.line("ana") };
        line.begin_call("TaskOutput", json!({ "task_id": job, "timeout": 600_000 }));
        // In a session the answer begins at once, as a stream.
        if has_session {
            line.is_answered();
        }
    }
    assert_eq!(served.session("ben").call("TaskGet", json!({ "taskId": "1" }))["isError"], false);
    let waiting = json!({ "task_id": job, "timeout": 1 });
    assert_eq!(served.line("ben").call("TaskOutput", waiting)["isError"], false);
    home.run(&format!("job stop {job}"));
}

#[test]
fn a_model_is_shown_the_end_of_a_long_output() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut command = home.command("mcp --allow-exec");
    command.env("TASK_MAX_OUTPUT_LENGTH", "200");
    let mut server = Piped::spawn(command).initialized();
    server.call("TaskRun", json!({ "command": "seq 1 20000; echo end" }));
    let job = home.ask("job list")["jobs"][0].clone();
    let shown = server.call("TaskOutput", json!({ "task_id": job["id"], "timeout": 600_000 }));
    let output = shown.split("<output>\n").nth(1).unwrap().strip_suffix("\n</output>").unwrap();
    let notice = format!("[Truncated. Full output: {}]\n\n", job["outputFile"].as_str().unwrap());
    assert!(output.starts_with(&notice) && output.ends_with("19999\n20000\nend"), "{output}");
    assert_eq!(output.len(), 199, "the newline at the end counts and is not shown");
}
