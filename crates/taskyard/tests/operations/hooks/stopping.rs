use serde_json::{Value, json};
use taskyard::core::Status;
use taskyard::hooks::Teammate;
use taskyard::operations::{IdleAnswer, StopAnswer, Stopped};

use crate::hooks::hook_site::{HookSite, id};

fn stopped() -> Stopped {
    Stopped {
        agent_id: "w1".into(),
        agent_type: "builder".into(),
        stop_hook_active: false,
        tasks_completed: vec![id(3)],
        result: json!({"exitCode": 0}),
        task: None,
    }
}

#[test]
fn the_end_of_an_agent_is_told_and_the_answer_returned() {
    let answer = r#"{"hookSpecificOutput":{"tasks_to_update":[{"task_id":"1","status":"completed"}]},"continue":false,"stopReason":"enough"}"#;
    let site =
        HookSite::new().hooks("SubagentStop", &[&format!("cat > event; echo '{answer}'"), "echo more >&2; exit 2"]);
    let yard = site.yard("1 in_progress");
    let expected = StopAnswer {
        blocked: Some("Stop hook feedback:\n[echo more >&2; exit 2]: more\n".into()),
        stop: Some("enough".into()),
        tasks_to_update: vec![(id(1), Status::Completed)],
        skipped: 0,
    };
    assert_eq!(yard.subagent_stop(&stopped()).unwrap(), expected);
    let event: Value = serde_json::from_str(&site.written("event")).unwrap();
    assert_eq!((&event["agent_type"], &event["tasks_completed"]), (&"builder".into(), &json!(["3"])));
    assert_eq!(
        crate::hooks::hook_site::status(&yard, 1),
        Status::InProgress,
        "what hooks want changed is the caller's to do"
    );
}

#[test]
fn only_hooks_for_this_kind_of_agent_are_asked() {
    let hook = |command: &str| json!([{"type": "command", "command": command}]);
    let settings = json!({"hooks": {"SubagentStop": [
        {"matcher": "tester", "hooks": hook("touch tester")},
        {"matcher": "tester|builder", "hooks": hook("touch builder")},
    ]}});
    let site = HookSite::new().settings(&settings.to_string());
    site.yard("").subagent_stop(&stopped()).unwrap();
    assert!(site.path("project/builder").exists() && !site.path("project/tester").exists());
}

#[test]
fn an_idle_agent_is_told_and_the_answer_returned() {
    let site = HookSite::new().hooks("TeammateIdle", &["cat > event; echo 'look again' >&2; exit 2"]);
    let bob = Teammate { name: "bob".into(), team: "alpha".into() };
    let told = "TeammateIdle hook feedback:\n[cat > event; echo 'look again' >&2; exit 2]: look again\n";
    let expected = IdleAnswer { keep_working: Some(told.into()), stop: None, skipped: 0 };
    assert_eq!(site.yard("").teammate_idle(&bob).unwrap(), expected);
    assert!(site.written("event").trim_end().ends_with(r#""teammate_name":"bob","team_name":"alpha"}"#));
}

#[test]
fn hooks_that_were_left_out_are_counted() {
    let site = HookSite::new();
    let hooks = json!({"hooks": {"SubagentStop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}});
    std::fs::write(site.path("project/.claude/settings.json"), hooks.to_string()).unwrap();
    let yard = site.yard("");
    assert_eq!(yard.subagent_stop(&stopped()).unwrap().skipped, 1);
    assert!(!site.root().join("project/ran").exists());
}
