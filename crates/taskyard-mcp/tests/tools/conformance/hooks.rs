//! The recorded runs in which a hook judged every task: the same texts, the same files, and the same words on its stdin.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use taskyard::Yard;
use taskyard::config::Config;
use taskyard::core::ClientVersion;
use taskyard::hooks::{HookSetup, Hooks};
use taskyard::process::Cancel;

use crate::conformance::recording::{Recording, Step};
use crate::conformance::replay::Replay;
use crate::conformance::tools;

const HOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/conformance/hook.sh");

/// One recorded run, with the settings that registered the hook and what it read.
struct Case {
    recording: &'static str,
    settings: &'static str,
    stdin: &'static str,
}

macro_rules! case {
    ($name:literal, $version:literal) => {
        Case {
            recording: include_str!(concat!("../../fixtures/conformance/", $name, ".", $version, ".json")),
            settings: include_str!(concat!("../../fixtures/conformance/hooks-settings.", $version, ".json")),
            stdin: include_str!(concat!("../../fixtures/conformance/", $name, ".", $version, ".hook-stdin.json")),
        }
    };
}

/// Says why a step is none of ours; none where it is.
fn left_out(step: &Step, client: ClientVersion) -> Option<&'static str> {
    match (step.agent.as_str(), step.tool.as_str()) {
        (_, "Task") => Some("starting an agent is the client's business"),
        ("agent:s1", "TaskList") if client == ClientVersion::V2_1_325 => {
            Some("this client gives its background agents no task tools; what it answers instead is its own business")
        }
        _ => None,
    }
}

fn replay(case: &Case) {
    let recording = Recording::read(case.recording);
    let events: Value = serde_json::from_str(case.stdin).unwrap();
    let events = events["events"].as_array().unwrap();
    let session = events[0]["session_id"].as_str().unwrap();
    let replay = Replay::new(&recording);
    let replay = replay.with(|yard, folder| with_hooks(yard, folder, case.settings, session));
    let hook = hook(replay.path());
    let mut expected = recording.disk_before.clone();
    let mut replayed = 0;
    for (number, step) in recording.steps.iter().enumerate() {
        let told = format!("step {number}: {} {}", step.tool, step.input);
        if left_out(step, recording.client).is_none() {
            let answer = tools::call(&replay.yard, step);
            assert_eq!(answer.text.replace(&hook, "$HOOK"), step.text, "{told}");
            assert_eq!(answer.is_error, step.is_error, "{told}");
            replayed += 1;
        }
        step.change(&mut expected);
        assert_eq!(replay.disk(), expected, "{told}");
    }
    assert!(recording.steps.len() - replayed <= 2, "only {replayed} steps were replayed");
    assert!(replay.yard.hooks().unwrap().take_warnings().is_empty());
    compare_stdin(&replay, events);
}

/// Returns the command of the hook. It keeps its notes in the home directory: it gets one of its own.
fn hook(folder: &Path) -> String {
    format!("HOME='{}' bash '{HOOK}'", folder.display())
}

/// Registers the hook in the user's settings, as it was registered when it was recorded.
fn with_hooks(yard: Yard, folder: &Path, settings: &str, session: &str) -> Yard {
    let (config, work) = (folder.join("config"), folder.join("work"));
    fs::create_dir_all(&config).unwrap();
    fs::create_dir_all(&work).unwrap();
    fs::write(config.join("settings.json"), settings.replace("$HOOK", &hook(folder))).unwrap();
    let setup = HookSetup {
        client_config: Some(config),
        project: work.clone(),
        directory: work,
        config: Config::default(),
        data: None,
        environment: Vec::new(),
        session: Some(session.to_owned()),
        teammate: None,
        rules: yard.rules(),
        turn: None,
    };
    yard.with_hooks(Arc::new(Hooks::new(setup, Cancel::new())))
}

/// Compares the first of each of our events with the recorded one, key for key in its order.
fn compare_stdin(replay: &Replay, recorded: &[Value]) {
    let log = fs::read_to_string(replay.path().join("hooklog.jsonl")).unwrap_or_default();
    let heard: Vec<Map<String, Value>> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_named = |event: &Map<String, Value>, name: &str| event["hook_event_name"] == name;
    for name in ["TaskCreated", "TaskCompleted"] {
        let ours = heard.iter().find(|event| is_named(event, name));
        let theirs = recorded.iter().filter_map(Value::as_object).find(|event| is_named(event, name));
        assert_eq!(ours.is_some(), theirs.is_some(), "{name}");
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        let keys =
            |event: &Map<String, Value>| event.keys().filter(|key| *key != "prompt_id").cloned().collect::<Vec<_>>();
        assert_eq!(keys(ours), keys(theirs), "{name}");
        for key in keys(ours) {
            assert_eq!(as_recorded(&ours[&key], replay), theirs[&key], "{name}.{key}");
        }
    }
}

/// Returns a value with our paths written as the recording writes them.
fn as_recorded(value: &Value, replay: &Replay) -> Value {
    let folder = replay.path().to_str().unwrap();
    let slug: String = folder.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let text = value.as_str().unwrap().replace(&format!("{folder}/config"), "$HOME/.claude");
    text.replace(folder, "$HOME").replace(&slug, "-HOME").into()
}

#[test]
fn hooks_of_2_1_34_judge_completions() {
    replay(&case!("hooks-complete", "2.1.34"));
}

#[test]
fn hooks_of_2_1_325_judge_completions() {
    replay(&case!("hooks-complete", "2.1.325"));
}

#[test]
fn hooks_of_2_1_34_do_not_judge_new_tasks() {
    replay(&case!("hooks-create", "2.1.34"));
}

#[test]
fn hooks_of_2_1_325_judge_new_tasks() {
    replay(&case!("hooks-create", "2.1.325"));
}

#[test]
fn the_end_of_an_agent_is_told_with_the_keys_of_2_1_34_first() {
    use taskyard::operations::Stopped;

    let events: Value = serde_json::from_str(case!("hooks-complete", "2.1.34").stdin).unwrap();
    let recorded = events["events"].as_array().unwrap().iter().find(|event| event["hook_event_name"] == "SubagentStop");
    let recording = Recording::read(case!("hooks-complete", "2.1.34").recording);
    let settings = case!("hooks-complete", "2.1.34").settings;
    let replay = Replay::new(&recording).with(|yard, folder| with_hooks(yard, folder, settings, "s"));
    let stopped = Stopped {
        agent_id: "a1".into(),
        agent_type: "general-purpose".into(),
        stop_hook_active: false,
        tasks_completed: Vec::new(),
        result: Value::Null,
        task: None,
    };
    replay.yard.subagent_stop(&stopped).unwrap();
    let heard = fs::read_to_string(replay.path().join("hooklog.jsonl")).unwrap();
    let heard: Map<String, Value> = serde_json::from_str(&heard).unwrap();
    let keys: Vec<&String> = heard.keys().collect();
    let (clients, ours) = keys.split_at(keys.len() - 2);
    assert_eq!(clients, recorded.unwrap().as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(ours, ["tasks_completed", "result"]);
}
