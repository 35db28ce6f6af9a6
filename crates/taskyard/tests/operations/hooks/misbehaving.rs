use serde_json::json;
use taskyard::core::Status;
use taskyard::hooks::HookWarning;
use taskyard::operations::NewTask;
use taskyard_testkit::{finishes, wait_until};

use crate::hooks::hook_site::{HookSite, feedback, id, is_alive, notices, status};

fn with_timeout(command: &str, seconds: f64) -> HookSite {
    let hook = json!({"type": "command", "command": command, "timeout": seconds});
    HookSite::new().settings(&json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}}).to_string())
}

#[test]
fn hanging_hook_is_killed_with_children_and_allows_change() {
    let site = with_timeout("sleep 600 & echo $! > inner; echo $$ > outer; wait", 5.0);
    let yard = site.yard("1 pending");
    let worker = yard.clone();
    finishes(move || worker.done(&id(1)).unwrap().done().unwrap());
    assert_eq!(status(&yard, 1), Status::Completed);
    assert!(matches!(&notices(&yard)[..], [HookWarning::TimedOut { .. }]));
    for file in ["inner", "outer"] {
        let pid = site.written(file);
        assert!(!pid.is_empty());
        wait_until("the process is gone", || !is_alive(&pid));
    }
}

#[test]
fn a_hook_that_dies_by_a_signal_forbids_nothing() {
    let site = HookSite::new().hooks("TaskCompleted", &["echo no >&2; kill -9 $$"]);
    let yard = site.yard("1 pending");
    yard.done(&id(1)).unwrap().done().unwrap();
}

#[test]
fn hook_flooding_both_pipes_ends_and_first_output_is_kept() {
    let flood = "head -c 100000000 /dev/zero | tr '\\0' x";
    let command = format!("echo first >&2; {flood} >&2 & {flood}; wait; exit 2");
    let site = HookSite::new().hooks("TaskCompleted", &[&command]);
    let yard = site.yard("1 pending");
    let told = finishes(move || feedback(yard.done(&id(1))));
    assert!(told.contains("]: first\nxxx"), "{}", &told[..200]);
    assert!(told.len() < 2_000_000, "{}", told.len());
}

#[test]
fn a_hook_that_never_reads_keeps_nobody_waiting() {
    let site = HookSite::new().hooks("TaskCreated", &["exec 0<&-; true", "true"]);
    let yard = site.yard("");
    let new = NewTask { subject: "x".into(), description: "y".repeat(4_000_000), ..NewTask::default() };
    finishes(move || yard.create(new).unwrap().done().unwrap());
}

#[test]
fn what_a_hook_leaves_running_keeps_nobody_waiting() {
    let site = HookSite::new().hooks("TaskCompleted", &["sleep 600 & echo $! > left; echo done >&2; exit 2"]);
    let yard = site.yard("1 pending");
    let told = finishes(move || feedback(yard.done(&id(1))));
    assert!(told.ends_with("done\n"), "{told}");
    let left = site.written("left");
    assert!(is_alive(&left), "what ended by itself is not killed");
    let pid = rustix::process::Pid::from_raw(left.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_hook_that_cannot_be_started_forbids_nothing_and_is_told() {
    let site = HookSite::new()
        .settings(r#"{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"./not-there","args":[]}]}]}}"#);
    let yard = site.yard("1 pending");
    yard.done(&id(1)).unwrap().done().unwrap();
    assert!(matches!(&notices(&yard)[..], [HookWarning::NotStarted { command, .. }] if command == "./not-there"));
}

#[test]
fn an_asynchronous_hook_reads_its_input_and_is_not_waited_for() {
    let command = "cat > got; mv got input; sleep 600 & echo $! > pid; wait; exit 2";
    let hook = json!({"type": "command", "command": command, "async": true});
    let site = HookSite::new().settings(&json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}}).to_string());
    let yard = site.yard("1 pending");
    finishes(move || yard.done(&id(1)).unwrap().done().unwrap());
    wait_until("the hook has read", || !site.written("input").is_empty() && !site.written("pid").is_empty());
    assert!(site.written("input").contains("\"task_id\":\"1\""));
    let pid = rustix::process::Pid::from_raw(site.written("pid").trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn output_that_is_no_text_is_shown_with_marks() {
    let site = HookSite::new().hooks("TaskCompleted", &["printf '\\377bad\\n' >&2; exit 2"]);
    assert!(feedback(site.yard("1 pending").done(&id(1))).ends_with("\u{fffd}bad\n"));
}
