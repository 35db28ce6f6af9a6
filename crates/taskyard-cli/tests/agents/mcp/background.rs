//! What the client was recorded doing with background commands, asked for through the tools: the same texts, ids and paths
//! aside.
//!
//! The client's `Bash` is our `TaskRun`. Where a recorded command sleeps to be at some point when it is asked, it waits here
//! for the test to let it go on, so that no clock decides what is seen.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::rules::hooks::System;
use taskyard::core::tools::task_output::longest_output;
use taskyard::core::{AgentName, ClientVersion, ListId, Rules};
use taskyard::jobs::JobSettings;
use taskyard::notices::MachineNotices;
use taskyard::opening::Address;
use taskyard::process::Cancel;
use taskyard::store::MemoryStore;
use taskyard_jobs::{JobOptions, Jobs};
use taskyard_mcp::calls::{JobDesk, Toolbox};
use taskyard_testkit::{Home, wait_until};

use crate::mcp::client::Client;
use crate::mcp::recording::{Recording, Step};

/// The session of the recording of 2.1.325, which is in its paths.
const SESSION: &str = "8965dadd-156f-4110-a3a4-bec2a27ad984";

/// A replay on its way.
struct Replay<'a> {
    home: &'a Home,
    /// The recorded id of every job, and ours.
    ids: HashMap<String, String>,
    output: PathBuf,
}

impl Replay<'_> {
    fn gate(&self, number: u32) -> PathBuf {
        self.home.path().join(format!("gate-{number}"))
    }

    /// Returns a recorded command that waits for gates instead of sleeping a little.
    fn gated(&self, command: &str) -> String {
        let wait = |number| format!("until [ -e {} ]; do sleep 0.02; done", self.gate(number).display());
        match command.contains("sleep 1;") {
            true => format!("{}; {}", wait(1), command.replace("sleep 1", &wait(2))),
            false => command.to_owned(),
        }
    }

    /// Returns a text with our ids and paths in the place of the recorded ones.
    fn ours(&self, text: &str) -> String {
        let home = self.home.path().to_str().unwrap();
        let slug: String =
            format!("{home}/work").chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
        let uid = rustix::process::getuid().as_raw();
        let mut text =
            text.replace("-HOME-work", &slug).replace("$HOME", home).replace("claude-0/", &format!("claude-{uid}/"));
        for (theirs, ours) in &self.ids {
            text = text.replace(theirs, ours);
        }
        text
    }

    /// Replays a step through a function that calls a tool and returns its text and whether it is an error.
    fn step(&mut self, step: &Step, version: ClientVersion, call: &mut impl FnMut(&str, &Value) -> (String, bool)) {
        let told = format!("{} {}", step.tool, step.input);
        if step.tool == "Bash" {
            if step.input["run_in_background"] != true {
                return;
            }
            let command = self.gated(step.input["command"].as_str().unwrap());
            let input = json!({ "command": command, "description": step.input["description"] });
            let (text, is_error) = call("TaskRun", &input);
            let id = |text: &str| {
                text.split("ID: ").nth(1).unwrap_or_else(|| panic!("{text}")).split('.').next().unwrap().to_owned()
            };
            let (theirs, ours) = (id(&step.text), id(&text));
            let is_digit = |one: char| match version {
                ClientVersion::V2_1_34 => one.is_ascii_hexdigit(),
                ClientVersion::V2_1_325 => one.is_ascii_lowercase() || one.is_ascii_digit(),
            };
            assert!(ours.len() == theirs.len() && ours.starts_with('b') && ours[1..].chars().all(is_digit), "{ours}");
            self.ids.insert(theirs, ours);
            assert_eq!((text.clone(), is_error), (self.ours(&step.text), false), "{told}");
            self.output = PathBuf::from(text.split("written to: ").nth(1).unwrap().split(". ").next().unwrap());
            return;
        }
        let timeout = step.input["timeout"].as_u64();
        if step.tool == "TaskOutput" && timeout == Some(200) {
            self.open(1, "err1");
        }
        if step.tool == "TaskOutput" && timeout == Some(5000) {
            self.open(2, "out2");
        }
        let input: Value = serde_json::from_str(&self.ours(&step.input.to_string())).unwrap();
        assert_eq!(call(&step.tool, &input), (self.ours(&step.text), step.is_error), "{told}");
    }

    /// Lets the command go on, and waits until it has written something.
    fn open(&self, gate: u32, written: &str) {
        fs::write(self.gate(gate), "").unwrap();
        wait_until(written, || fs::read_to_string(&self.output).unwrap().contains(written));
    }
}

/// Replays a recording through the official client of the protocol.
fn replay_over_mcp(recording: &Recording, home: &Home) -> usize {
    let mut command = home.command(&format!("mcp --allow-exec --rules client --client-version {}", recording.client));
    command
        .current_dir(home.path().join("work"))
        .env("CLAUDE_CODE_TMPDIR", home.path().join("cctmp"))
        .env("CLAUDE_CODE_SESSION_ID", SESSION);
    let mut client = Client::with_command(&command, json!({}));
    replay_with(recording, home, |tool, input| {
        let answer = client.call(tool, input);
        // Notifications have no place in the client's answers.
        assert_eq!(answer["content"].as_array().unwrap().len(), 1, "{answer}");
        (answer["content"][0]["text"].as_str().unwrap().to_owned(), answer["isError"] == true)
    })
}

/// Replays a recording through the library.
fn replay_in_the_library(recording: &Recording, home: &Home) -> usize {
    let rules = Rules::Client(recording.client);
    let settings = JobSettings { output_form: recording.client, ..JobSettings::default() };
    let options = JobOptions {
        data: home.data(),
        temporary: home.path().join("cctmp"),
        program: env!("CARGO_BIN_EXE_taskyard").into(),
        environment: Vec::new(),
        settings,
    };
    let desk = JobDesk {
        jobs: Jobs::new(options),
        notices: Arc::new(MachineNotices::in_data(home.data())),
        runs_commands: true,
        longest_output: longest_output(None),
        directory: home.path().join("work"),
        store: Address::Memory,
        session: Some(SESSION.to_owned()),
        tool_use: None,
        cancel: Cancel::new(),
        workplace: None,
    };
    let (list, agent) = (ListId::new("L").unwrap(), AgentName::new("replay").unwrap());
    let yard = Yard::new(Arc::new(MemoryStore::new(rules)), list, agent).with_rules(rules);
    let tools = Toolbox::new(yard, System::Tasks).with_jobs(desk);
    replay_with(recording, home, |tool, input| {
        let answer = tools.call(tool, input).unwrap();
        (answer.text, answer.is_error)
    })
}

/// Replays every step, and returns how many commands were run.
fn replay_with(recording: &Recording, home: &Home, mut call: impl FnMut(&str, &Value) -> (String, bool)) -> usize {
    let mut replay = Replay { home, ids: HashMap::new(), output: PathBuf::new() };
    for step in &recording.steps {
        replay.step(step, recording.client, &mut call);
    }
    replay.ids.len()
}

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::create_dir_all(home.path().join("work")).unwrap();
    home
}

fn replay(contents: &str) {
    let recording = Recording::read(contents);
    assert_eq!(replay_in_the_library(&recording, &home()), 3);
    assert_eq!(replay_over_mcp(&recording, &home()), 3);
}

#[test]
fn background_commands_of_2_1_34() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/background.2.1.34.json"));
}

#[test]
fn background_commands_of_2_1_325() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/background.2.1.325.json"));
}
