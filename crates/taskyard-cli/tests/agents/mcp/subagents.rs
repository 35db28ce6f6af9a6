//! Subagents of the client: they call over their parent's connection, and the client's transcripts tell who made which call.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::stdio::{Piped, text};

const SESSION: &str = "5ce1ab1e-1111-4222-8333-444444444444";
const PARENT: &str = "claude-code-5ce1ab1e";

/// A session of the client in a home, and the transcripts it writes.
struct Session {
    home: Home,
    server: Piped,
    folder: PathBuf,
    calls: u32,
}

impl Session {
    fn new() -> Self {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        for subject in ["One", "Two", "Three"] {
            home.run(&format!("create {subject}"));
        }
        let mut command = home.command("mcp");
        command.env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", SESSION);
        let directory = command.directory().unwrap().to_str().unwrap().to_owned();
        let slug: String = directory.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
        let folder = home.tasks().parent().unwrap().join("projects").join(slug);
        fs::create_dir_all(folder.join(SESSION).join("subagents")).unwrap();
        Self { server: Piped::spawn(command).initialized(), home, folder, calls: 0 }
    }

    fn transcript(&self, subagent: Option<&str>) -> PathBuf {
        match subagent {
            None => self.folder.join(format!("{SESSION}.jsonl")),
            Some(id) => self.folder.join(SESSION).join("subagents").join(format!("agent-{id}.jsonl")),
        }
    }

    /// Calls a tool as the session's own agent or as a subagent, the call written down as the client does it.
    fn call(&mut self, subagent: Option<&str>, tool: &str, input: Value) -> (String, bool) {
        self.calls += 1;
        let id = format!("toolu_{:024}", self.calls);
        let made = json!({"type": "tool_use", "id": id, "name": format!("mcp__taskyard__{tool}"), "input": input});
        let line = json!({
            "isSidechain": subagent.is_some(), "sessionId": SESSION, "agentId": subagent, "type": "assistant",
            "message": {"role": "assistant", "content": [made]},
        });
        let path = self.transcript(subagent);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}{line}\n")).unwrap();
        let params = json!({"name": tool, "arguments": input, "_meta": {"claudecode/toolUseId": id}});
        let answer = self.server.ask("tools/call", params);
        (text(&answer), answer["result"]["isError"] == true)
    }

    fn owner(&self, id: &str) -> Value {
        self.home.present()[id]["owner"].clone()
    }

    /// Ends a subagent as the client does, and returns what the hook says to that.
    fn stop(&self, id: &str, stop_hook_active: bool) -> Value {
        let event = json!({
            "session_id": SESSION, "transcript_path": self.transcript(None), "cwd": "/nowhere",
            "permission_mode": "default", "hook_event_name": "SubagentStop", "stop_hook_active": stop_hook_active,
            "agent_id": id, "agent_transcript_path": self.transcript(Some(id)), "agent_type": "general-purpose",
        });
        let mut command = self.home.command("hook SubagentStop");
        command.env_remove("TASKYARD_AGENT").stdin(std::process::Stdio::piped());
        let mut child = command.start();
        std::io::Write::write_all(&mut child.take_input(), event.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn what_a_subagent_claims_is_its_own() {
    let mut session = Session::new();
    session.call(None, "TaskClaim", json!({"taskId": "1"}));
    let (said, _) = session.call(Some("acd2cc6"), "TaskClaim", json!({"taskId": "2"}));
    assert!(said.contains(&format!("Yours, as acd2cc6@{PARENT}")), "{said}");
    session.call(Some("a0ac3bb7467c275ab"), "TaskClaim", json!({}));
    let owners = ["1", "2", "3"].map(|id| session.owner(id));
    let subagent = |id: &str| json!(format!("{id}@{PARENT}"));
    assert_eq!(owners, [json!(PARENT), subagent("acd2cc6"), subagent("a0ac3bb7467c275ab")]);
    // Of parent, child and sibling one has each task.
    for (caller, task) in
        [(None, "2"), (Some("acd2cc6"), "1"), (Some("acd2cc6"), "3"), (Some("a0ac3bb7467c275ab"), "2")]
    {
        let (said, is_error) = session.call(caller, "TaskClaim", json!({"taskId": task}));
        assert!(is_error && said.contains("is not yours"), "{caller:?} {task}: {said}");
    }
    let (said, _) = session.call(Some("acd2cc6"), "TaskClaim", json!({}));
    assert!(said.starts_with("You already have this task.\nTask #2"), "{said}");
}

#[test]
fn subagent_and_parent_finish_what_it_claimed_siblings_not() {
    let mut session = Session::new();
    session.call(Some("acd2cc6"), "TaskClaim", json!({"taskId": "1"}));
    session.call(Some("acd2cc6"), "TaskClaim", json!({"taskId": "2"}));
    session.call(None, "TaskClaim", json!({"taskId": "3"}));
    let done = |id: &str| json!({"taskId": id, "status": "completed"});
    let (said, is_error) = session.call(Some("ae0de9f"), "TaskUpdate", done("1"));
    assert!(is_error && said.contains("acd2cc6@"), "{said}");
    let (_, is_error) = session.call(Some("ae0de9f"), "TaskRelease", json!({"taskId": "1"}));
    assert!(is_error);
    let (said, is_error) = session.call(Some("acd2cc6"), "TaskUpdate", done("1"));
    assert!(!is_error, "{said}");
    let (said, is_error) = session.call(None, "TaskRelease", json!({"taskId": "2"}));
    assert!(!is_error, "{said}");
    // What a parent has claimed it may have another finish.
    let (said, is_error) = session.call(Some("ae0de9f"), "TaskUpdate", done("3"));
    assert!(!is_error, "{said}");
    let present = session.home.present();
    let statuses = ["1", "2", "3"].map(|id| present[id]["status"].clone());
    assert_eq!(statuses, ["completed", "pending", "completed"]);
}

#[test]
fn subagent_cannot_end_with_own_work_unfinished() {
    let mut session = Session::new();
    session.call(None, "TaskClaim", json!({"taskId": "1"}));
    session.call(Some("acd2cc6"), "TaskClaim", json!({"taskId": "2"}));
    session.call(Some("ae0de9f"), "TaskClaim", json!({"taskId": "3", "agent": "scout"}));
    assert_eq!(session.owner("3"), "scout");
    assert_eq!(session.stop("a000000", false), json!({}));
    let held = |answer: &Value| answer["reason"].as_str().unwrap_or_default().to_owned();
    let first = session.stop("acd2cc6", false);
    assert_eq!(first["decision"], "block");
    assert!(held(&first).contains("#2 Two") && !held(&first).contains("#1") && !held(&first).contains("#3"), "{first}");
    let second = session.stop("ae0de9f", false);
    assert!(held(&second).contains("#3 Three"), "{second}");
    // It ends all the same: no other agent will ever have its name.
    assert_eq!(session.stop("acd2cc6", true), json!({}));
    let present = session.home.present();
    assert_eq!((&present["2"]["status"], present["2"].get("owner")), (&json!("pending"), None));
    assert_eq!(session.owner("1"), PARENT);
    let (_, is_error) = session.call(Some("ae0de9f"), "TaskUpdate", json!({"taskId": "3", "status": "completed"}));
    assert!(!is_error);
    assert_eq!(session.stop("ae0de9f", false), json!({}));
}

#[test]
fn unrecorded_claim_belongs_to_session_and_may_get_a_name() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    home.run("create Two");
    let mut command = home.command("mcp");
    command.env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", SESSION);
    let mut server = Piped::spawn(command).initialized();
    let mut call = |tool: &str, input: Value, id: &str| {
        let params = json!({"name": tool, "arguments": input, "_meta": {"claudecode/toolUseId": id}});
        text(&server.ask("tools/call", params))
    };
    call("TaskClaim", json!({"taskId": "1"}), "toolu_1");
    call("TaskClaim", json!({"taskId": "2", "agent": "scout"}), "toolu_2");
    assert_eq!(
        (home.present()["1"]["owner"].clone(), home.present()["2"]["owner"].clone()),
        (json!(PARENT), json!("scout"))
    );
    let said = call("TaskUpdate", json!({"taskId": "2", "status": "completed"}), "toolu_3");
    assert!(said.starts_with("Updated task #2 status"), "{said}");
}

#[test]
fn named_agent_finishes_its_claim_under_another_name() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let mut server = Piped::start(&home, "--as ana").initialized();
    server.call("TaskClaim", json!({"taskId": "1", "agent": "scout"}));
    assert_eq!(home.present()["1"]["owner"], "scout");
    let done = json!({"taskId": "1", "status": "completed"});
    let params = json!({"name": "TaskUpdate", "arguments": done, "_meta": {"taskyard/agent": "ben"}});
    assert_eq!(server.ask("tools/call", params)["result"]["isError"], true);
    server.call("TaskUpdate", done);
    assert_eq!(home.present()["1"]["status"], "completed");
}
