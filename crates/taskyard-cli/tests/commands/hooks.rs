use std::fs;
use std::process::Stdio;

use rustix::process::Signal;

use taskyard_testkit::wait_until;

use crate::test::Test;

const SETTINGS: &str = "home/.claude/settings.json";

fn settings(event: &str, command: &str) -> String {
    format!(r#"{{"hooks":{{"{event}":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#)
}

#[test]
fn a_hook_keeps_a_task_open_and_says_why() {
    Test::new()
        .list("1 in_progress (ana) 'Write the parser'; 2 pending <- 1")
        .file(SETTINGS, settings("TaskCompleted", "echo two tests fail >&2; echo see the log >&2; exit 2"))
        .run("done 1")
        .run("done 1 --json")
        .run("update 1 --status completed --subject Renamed")
        .run("show 1 --json")
        .run("cancel 1")
        .snapshot();
}

#[test]
fn a_hook_forbids_a_task_and_its_number_is_burnt() {
    Test::new()
        .strict()
        .file(SETTINGS, settings("TaskCreated", "grep -q Nonsense && echo no nonsense >&2 && exit 2; exit 0"))
        .run("create Nonsense")
        .run("create Nonsense --json")
        .run("create Sense")
        .run("history")
        .run("create Nonsense --rules client --client-version 2.1.34")
        .snapshot();
}

#[test]
fn what_a_hook_says_cannot_steer_the_terminal() {
    Test::new()
        .list("1 pending")
        .file(SETTINGS, settings("TaskCompleted", r"printf '\\033[2Jgone\\n' >&2; exit 2"))
        .run("done 1")
        .snapshot();
}

#[test]
fn a_check_must_pass_before_a_task_may_complete() {
    Test::new()
        .file("home/.config/taskyard/taskyard.toml", "[checks]\ntests = \"echo 1 of 3 failed; test -e mended\"")
        .quietly("create 'Write the parser' --meta 'verify=\"tests\"'")
        .quietly("create 'Write the docs' --meta 'verify=[\"tests\",\"spelling\"]'")
        .run("done 1")
        .run("done 1 --json")
        .file("home/project/mended", "")
        .run("done 1")
        .run("done 2")
        .run("done 2 --json")
        .snapshot();
}

#[test]
fn a_settings_file_that_makes_no_sense_is_passed_over_and_told() {
    Test::new().file(SETTINGS, "{\"hooks\":").run("create one").run("create two --json").run("list").snapshot();
}

#[test]
fn hooks_are_told_of_the_team() {
    Test::new()
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .file(SETTINGS, settings("TaskCompleted", "cat > event"))
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .list_named("alpha", "1 in_progress (bob)")
        .env("CLAUDE_CODE_SESSION_ID", "s-1")
        .run("done 1 --as bob")
        .meanwhile(|place| {
            let event = fs::read_to_string(place.join("home/project/event")).unwrap();
            assert!(event.trim_end().ends_with(r#""teammate_name":"bob","team_name":"alpha"}"#), "{event}");
            assert!(event.starts_with(r#"{"session_id":"s-1","transcript_path":""#), "{event}");
        })
        .snapshot();
}

#[test]
fn an_agent_on_another_list_than_its_teams_is_no_teammate_there() {
    Test::new()
        .file(SETTINGS, settings("TaskCompleted", "cat > event"))
        .file("home/shop/x", "")
        .inside("../shop")
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .inside("")
        .list("1 in_progress (bob)")
        .quietly("done 1 --as bob")
        .meanwhile(|place| {
            let event = fs::read_to_string(place.join("home/project/event")).unwrap();
            assert!(event.contains("TaskCompleted") && !event.contains("teammate_name"), "{event}");
        });
}

#[test]
fn hook_blocks_even_if_parent_ignores_children() {
    let test = Test::new().list("1 pending").file(SETTINGS, settings("TaskCompleted", "exit 2"));
    let mut command = test.command("/usr/bin/env");
    command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_taskyard"), "done", "1"]);
    let output = command.output();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// Starts a command whose hook hangs, sends it a signal there, and returns its exit code.
fn stopped_in_a_hook(test: &Test, words: &[&str], signal: Signal) -> Option<i32> {
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).start();
    let started = test.path("home/project/started");
    wait_until("the hook", || started.exists());
    child.signal(signal);
    let code = child.wait().code();
    let pid = fs::read_to_string(&started).unwrap();
    wait_until("the end of the hook", || !is_alive(pid.trim()));
    fs::remove_file(started).unwrap();
    code
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

const HANGING: &str = "sleep 600 & echo $! > pid; mv pid started; wait";

#[test]
fn command_stopped_in_hook_leaves_no_process_or_change() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut test = Test::new().list("1 pending").file(SETTINGS, settings("TaskCompleted", HANGING));
        assert_eq!(stopped_in_a_hook(&test, &["done", "1"], signal), Some(code));
        assert_eq!(test.json("show 1 --json")["task"]["status"], "pending");
    }
}

#[test]
fn a_creation_stopped_while_its_hook_runs_leaves_no_task() {
    let mut test = Test::new().quietly("create one").file(SETTINGS, settings("TaskCreated", HANGING));
    assert_eq!(stopped_in_a_hook(&test, &["create", "two"], Signal::INT), Some(130));
    assert_eq!(test.json("list --json")["tasks"].as_array().unwrap().len(), 1);
    let history = test.json("history --json");
    let ops: Vec<&str> =
        history["entries"].as_array().unwrap().iter().map(|entry| entry["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["create", "create", "delete"]);
}
