//! Agents that claim while `work` runs them for a task: over MCP and in the shell they get that task and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use taskyard_testkit::{Home, Program, Ran, Random, wait_until};

use crate::working::site::Site;

/// Defines `call TOOL INPUT`: one call over an MCP server of its own, and the text of its answer.
const MCP: &str = r#"
call() {
    printf '%s\n' \
        '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" |
        "$TASKYARD" mcp | sed -n 's/.*"id":1,.*"text":"\([^"]*\).*/\1/p'
}
"#;

fn with_mcp(line: &str) -> String {
    format!("{MCP}{line}")
}

#[test]
fn claims_in_a_run_answer_with_its_task() {
    let site = Site::with(&["one", "two", "three"]);
    let line = with_mcp(
        "exec > said-$TASKYARD_TASK_ID 2>&1; [ $TASKYARD_TASK_ID = 1 ] || exit 0
        call TaskClaim '{}'; call TaskClaim '{\"taskId\":\"2\"}'; call TaskUpdate '{\"taskId\":\"2\",\"status\":\"in_progress\"}'
        $TASKYARD claim --next --quiet; $TASKYARD claim 1 --quiet; $TASKYARD claim 3; $TASKYARD claim 1 2; $TASKYARD start 2
        $TASKYARD claim 2 --as scout; $TASKYARD prime | grep 'This run'; $TASKYARD done 1 --quiet; $TASKYARD update 1 --meta x=1 --quiet
        call TaskClaim '{}'; call TaskRelease '{\"taskId\":\"2\"}'",
    );
    let ran = site.worked("--as ana", &line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = fs::read_to_string(site.path("said-1")).unwrap();
    for words in [
        "You are working on #1: this run is for that task alone.\\nTask #1: one",
        "Not claimed: this run is for #1 one (in_progress, ana); finish or release it first",
        "error: task 3 cannot be claimed: this run is for #1; finish or release it first",
        "This run is for #1 one: work on that and nothing else.",
        "Claimed (",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    assert_eq!(said.matches("cannot be claimed: this run is for #1").count(), 3, "{said}");
    assert_eq!(said.lines().filter(|line| *line == "1").count(), 2, "{said}");
    assert_eq!(site.history("2").join(", "), "tester create, ana claim, ana release, ana claim, ana update", "{said}");
    assert_eq!(site.history("1").join(", "), "tester create, ana claim, ana update, ana update");
}

#[test]
fn other_task_left_in_progress_is_released() {
    let site = Site::with(&["one", "two"]);
    let line = "[ $TASKYARD_TASK_ID = 1 ] || exit 0; $TASKYARD done 1; exec $TASKYARD claim 2";
    let ran = site.worked("--as ana", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("released #2 two: left in progress by the run for #1\n"), "{ran:?}");
    assert_eq!(site.notes("2"), ["left in progress by the run for #1"]);
    assert_eq!(site.history("2").join(", "), "tester create, ana claim, ana release, ana claim, ana update");
}

#[test]
fn answers_name_the_task_of_a_run_and_what_it_left() {
    let site = Site::with(&["one", "two"]);
    let line = "[ $TASKYARD_TASK_ID = 1 ] || exit 0
        $TASKYARD prime --json > held; $TASKYARD done 1; $TASKYARD prime --json > done; exec $TASKYARD claim 2";
    let ran = site.worked("--as ana --json", line);
    assert_eq!(ran.json()["leftBehind"], json!(["2"]), "{ran:?}");
    let run = |name: &str| serde_json::from_str::<Value>(&site.await_file(name)).unwrap()["run"].clone();
    assert_eq!((run("held"), run("done")), (json!("1"), Value::Null), "it is there as long as the agent holds it");
    assert_eq!(site.home.ask("prime")["run"], Value::Null);
}

#[test]
fn run_that_gave_its_task_back_completes_nothing() {
    let site = Site::with(&["one"]);
    let line = "[ ! -e again ] || exit 0; touch again; $TASKYARD release 1; exec sleep 600";
    let ran = site.worked("--as ana --json", line);
    assert_eq!(ran.json()["completed"], json!(["1"]), "{ran:?}");
    let history = site.history("1").join(", ");
    assert_eq!(history, "tester create, ana claim, ana release, ana claim, ana update", "the second run completed it");
}

/// Runs a command with a text on its stdin.
fn fed(site: &Site, mut command: Program, text: &str) -> Ran {
    fs::write(site.path("input"), text).unwrap();
    command.stdin(fs::File::open(site.path("input")).unwrap()).run()
}

/// Returns a command in the environment that `work` gives.
fn in_run(home: &Home, token: u64, words: &str) -> Program {
    let mut command = home.command(words);
    let list = home.ask("where")["list"].as_str().unwrap().to_owned();
    command.env("TASKYARD_AGENT", "ana").env("TASKYARD_LIST", list);
    command.env("TASKYARD_TASK_ID", "1").env("TASKYARD_TASK_TOKEN", token.to_string());
    command
}

#[test]
fn late_command_of_an_earlier_run_is_refused() {
    let site = Site::with(&["one", "two"]);
    let early = site.home.ask("claim 1 --as ana")["token"].as_u64().unwrap();
    site.home.ask("release 1 --as ana");
    let late = site.home.ask("claim 1 --as ana")["token"].as_u64().unwrap();
    for words in ["done 1", "update 1 --subject x", "release 1"] {
        let ran = in_run(&site.home, early, &format!("{words} --json")).run();
        assert_eq!((ran.code, ran.json()["error"]["code"].as_str()), (Some(3), Some("stale_token")), "{ran:?}");
    }
    let again = in_run(&site.home, early, "claim 1").run();
    assert!(again.stderr.contains("this run has given #1 back"), "{again:?}");
    let other_list = in_run(&site.home, late, "create elsewhere --list other --json").run();
    assert_eq!(other_list.code, Some(0), "{other_list:?}");
    let claimed = in_run(&site.home, late, "claim --next --list other --json").run().json();
    assert_eq!(claimed["task"]["subject"], "elsewhere", "a run says nothing of other lists");
    assert_eq!(in_run(&site.home, late, "done 1 --json").run().code, Some(0));
}

#[test]
fn session_start_tells_the_task_of_the_run() {
    let site = Site::with(&["one", "two"]);
    let token = site.home.ask("claim 1 --as ana")["token"].as_u64().unwrap();
    let event = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": "startup" });
    let answer = fed(&site, in_run(&site.home, token, "hook SessionStart"), &event.to_string()).json();
    let told = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.starts_with("This run is for #1 one: work on that and nothing else."), "{told}");
    let stop = json!({ "session_id": "s", "hook_event_name": "SubagentStop", "agent_id": "a1" });
    let answer = fed(&site, in_run(&site.home, token, "hook SubagentStop"), &stop.to_string()).json();
    assert_eq!(answer, json!({}), "the run's own task does not keep its subagents");
}

#[test]
fn every_completed_task_was_worked_on_by_its_run() {
    let site = Site::with(&[]);
    let batch: String =
        (1..=50).map(|number| format!("{}\n", json!({ "subject": format!("task {number}") }))).collect();
    let created = fed(&site, site.home.command("create --batch -"), &batch);
    assert_eq!(created.code, Some(0), "{created:?}");
    let line = with_mcp(
        "echo began $TASKYARD_TASK_ID $TASKYARD_TASK_TOKEN >> log
        [ $((TASKYARD_TASK_TOKEN % 7)) != 0 ] || kill -9 $$
        id=$(call TaskClaim '{}' | sed -n 's/^You are working on #\\([0-9]*\\).*/\\1/p')
        echo worked $id $TASKYARD_TASK_TOKEN >> log
        [ $((TASKYARD_TASK_TOKEN % 9)) != 0 ] || kill -9 $$",
    );
    let mut random = Random::new(34);
    let completed = || site.home.ask("stats")["counts"]["completed"].as_u64().unwrap();
    for _ in 0..2 {
        let worker = site.start("-j 4 --as crew --retries 99 --quiet", &line);
        let enough = completed() + 5 + random.below(10) as u64;
        wait_until("some tasks are completed", || completed() >= enough);
        worker.send(Signal::KILL);
        worker.end();
    }
    let ran = site.worked("-j 4 --as crew --retries 99 --json", &line);
    assert_eq!(completed(), 50, "{ran:?}");
    let log = fs::read_to_string(site.path("log")).unwrap();
    let (mut last_run, mut worked) = (BTreeMap::new(), BTreeSet::new());
    for words in log.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let (id, token) = (words[1].to_owned(), words[2].parse::<u64>().unwrap());
        if words[0] == "began" {
            let newest = last_run.entry(id).or_insert(token);
            *newest = token.max(*newest);
        } else {
            worked.insert((id, token));
        }
    }
    assert_eq!(last_run.len(), 50);
    for run in last_run {
        assert!(worked.contains(&run), "{run:?} was completed by a run that worked on another task\n{log}");
    }
    let in_progress = site.home.ask("list --status in_progress")["tasks"].clone();
    assert_eq!(in_progress, Value::Array(Vec::new()));
}
