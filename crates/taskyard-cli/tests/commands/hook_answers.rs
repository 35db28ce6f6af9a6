//! Every answer to a hook, held against what each release of the client accepts. What a release does not accept it ignores as a
//! whole, so that nothing blocks and nothing is told.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::test::Test;

/// What a release accepts: at the top of an answer, and below `hookSpecificOutput` for each event that may have one. Keys that a
/// release does not know are passed over by both, at either level; an event it does not know is not.
struct Release {
    version: &'static str,
    specific: &'static [(&'static str, &'static [&'static str])],
    /// What its `SubagentStop` and `SessionStart` hooks were seen to read.
    events: [&'static str; 2],
}

const TOP: [(&str, Kind); 6] = [
    ("continue", Kind::Flag),
    ("suppressOutput", Kind::Flag),
    ("stopReason", Kind::Text),
    ("decision", Kind::OneOf(&["approve", "block"])),
    ("reason", Kind::Text),
    ("systemMessage", Kind::Text),
];

const OLD: Release = Release {
    version: "2.1.34",
    specific: &[
        ("PreToolUse", &["permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"]),
        ("UserPromptSubmit", &["additionalContext"]),
        ("SessionStart", &["additionalContext"]),
        ("Setup", &["additionalContext"]),
        ("SubagentStart", &["additionalContext"]),
        ("PostToolUse", &["additionalContext", "updatedMCPToolOutput"]),
        ("PostToolUseFailure", &["additionalContext"]),
        ("Notification", &["additionalContext"]),
        ("PermissionRequest", &["decision"]),
    ],
    events: [
        r#"{"session_id":"c039ec1a-5401-4cc0-acbd-c472ecec0dfe","transcript_path":"/nowhere/c039.jsonl","cwd":"/nowhere","permission_mode":"bypassPermissions","hook_event_name":"SubagentStop","stop_hook_active":false,"agent_id":"acd2cc6","agent_transcript_path":"/nowhere/agent-acd2cc6.jsonl","agent_type":"general-purpose"}"#,
        r#"{"session_id":"c039ec1a-5401-4cc0-acbd-c472ecec0dfe","transcript_path":"/nowhere/c039.jsonl","cwd":"/nowhere","hook_event_name":"SessionStart","source":"startup"}"#,
    ],
};

const NEW: Release = Release {
    version: "2.1.325",
    specific: &[
        ("PreToolUse", &["permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"]),
        ("UserPromptSubmit", &["additionalContext", "sessionTitle", "suppressOriginalPrompt"]),
        ("SessionStart", &["additionalContext", "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"]),
        ("Setup", &["additionalContext"]),
        ("SubagentStart", &["additionalContext"]),
        ("PostToolUse", &["additionalContext", "updatedToolOutput", "updatedMCPToolOutput"]),
        ("PostToolUseFailure", &["additionalContext"]),
        ("Notification", &["additionalContext"]),
        ("PermissionRequest", &["decision"]),
        ("Stop", &["additionalContext"]),
        ("SubagentStop", &["additionalContext"]),
    ],
    events: [
        r#"{"session_id":"1fc2c570-aff0-4635-95bd-a1f7f574d498","transcript_path":"/nowhere/1fc2.jsonl","cwd":"/nowhere","prompt_id":"9cf1745c-cb70-42c4-a4fa-393ac9e46ad5","permission_mode":"bypassPermissions","agent_id":"a0ac3bb7467c275ab","agent_type":"general-purpose","effort":{"level":"medium"},"hook_event_name":"SubagentStop","stop_hook_active":false,"agent_transcript_path":"/nowhere/agent-a0ac3bb7467c275ab.jsonl","last_assistant_message":"done","background_tasks":[],"session_crons":[]}"#,
        r#"{"session_id":"1fc2c570-aff0-4635-95bd-a1f7f574d498","transcript_path":"/nowhere/1fc2.jsonl","cwd":"/nowhere","hook_event_name":"SessionStart","source":"startup","model":"claude-opus-5-5"}"#,
    ],
};

#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Text,
    OneOf(&'static [&'static str]),
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }
}

impl Release {
    /// Says why the release would throw an answer away.
    fn refuses(&self, answer: &Map<String, Value>) -> Option<String> {
        for (key, kind) in TOP {
            if answer.get(key).is_some_and(|value| !kind.takes(value)) {
                return Some(format!("`{key}` has the wrong type"));
            }
        }
        let specific = answer.get("hookSpecificOutput")?;
        let event = specific["hookEventName"].as_str().unwrap_or_default();
        let known: BTreeMap<&str, &[&str]> = self.specific.iter().copied().collect();
        let Some(keys) = known.get(event) else { return Some(format!("it knows no output for `{event}`")) };
        let texts = keys.iter().filter(|key| key.ends_with("Context"));
        texts
            .into_iter()
            .find(|key| specific.get(**key).is_some_and(|value| !value.is_string()))
            .map(|key| format!("`{key}` has the wrong type"))
    }
}

/// Runs a hook that reads an event, and returns what it answered.
fn answer(test: &mut Test, line: &str, event: &str) -> Map<String, Value> {
    let output = test.answer_to(line, event);
    // To the client 2 is a block, and any other code but 0 a fault of the hook.
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    match text.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{line}: {error}\n{text}")),
    }
}

#[test]
fn every_answer_is_one_that_both_releases_accept() {
    for sender in [OLD, NEW] {
        let agent = serde_json::from_str::<Value>(sender.events[0]).unwrap()["agent_id"].as_str().unwrap().to_owned();
        let mut test = Test::new().list(&format!("1 in_progress ({agent}) 'Write'; 2 pending 'Rest'"));
        let again = sender.events[0].replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
        let mut answers = vec![answer(&mut test, "hook SessionStart --list project", sender.events[1])];
        for (line, event) in [
            ("hook SubagentStop --list project", sender.events[0]),
            ("hook SubagentStop --list project", &again),
            ("hook SubagentStop --list project --allow-unfinished", sender.events[0]),
            ("hook SubagentStop --list project --as ana", sender.events[0]),
        ] {
            answers.push(answer(&mut test, line, event));
        }
        let mut test = test.quietly("done 1 --list project --force");
        answers.push(answer(&mut test, "hook SubagentStop --list project", sender.events[0]));
        for (number, answer) in answers.iter().enumerate() {
            for release in [&OLD, &NEW] {
                assert_eq!(release.refuses(answer), None, "{}: answer {number}: {answer:?}", release.version);
            }
        }
        assert!(answers[0]["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("#1"), "{answers:?}");
        assert_eq!(answers[1]["decision"], "block", "{answers:?}");
        assert!(answers[1]["reason"].as_str().unwrap().contains("#1 Write (as "), "{answers:?}");
        assert!(answers[2..].iter().all(Map::is_empty), "{answers:?}");
    }
}

#[test]
fn only_an_event_that_names_tasks_is_told_what_became_of_them() {
    let event = r#"{"hook_event_name":"SubagentStop","agent_type":"bob","tasks_completed":["1"]}"#;
    let mut test = Test::new().list("1 in_progress (bob)");
    let told = answer(&mut test, "hook SubagentStop --list project", event);
    let updates = json!([{"task_id": "1", "status": "completed"}]);
    assert_eq!(told["hookSpecificOutput"]["tasks_to_update"], updates);
    // No release sends such an event. The older one would throw this answer away.
    assert!(OLD.refuses(&told).is_some());
    assert_eq!(NEW.refuses(&told), None);
}
