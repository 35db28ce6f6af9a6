//! The client's transcript of a conversation: one JSON object on each line, of which we read who called what.

use serde_json::Value;

use crate::json_text::from_slice;

/// Tells whether the agent of a transcript has made the call with this id. A line that is not whole yet counts for
/// nothing.
pub fn makes_call(transcript: &[u8], id: &str) -> bool {
    lines_with(transcript, id.as_bytes())
        .any(|line| calls(&line).any(|call| call.get("id").and_then(Value::as_str) == Some(id)))
}

/// Returns the names that the agent of a transcript gave itself when it claimed tasks, each once.
pub fn names_given(transcript: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in lines_with(transcript, b"TaskClaim") {
        for call in calls(&line).filter(|call| is_claim(call)) {
            let name = call.get("input").and_then(|input| input.get("agent")?.as_str()).map(str::trim);
            if let Some(name) = name.filter(|name| !name.is_empty() && !names.iter().any(|known| known == name)) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Tells whether a call claims a task with a tool of ours, under whatever name the server is registered.
fn is_claim(call: &Value) -> bool {
    let tool = call.get("name").and_then(Value::as_str).unwrap_or_default();
    tool.starts_with("mcp__") && tool.ends_with("__TaskClaim")
}

/// Returns the lines that hold some bytes and are JSON.
fn lines_with<'a>(transcript: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = Value> + 'a {
    let lines = transcript.split(|byte| *byte == b'\n');
    let holds = move |line: &&[u8]| !wanted.is_empty() && line.windows(wanted.len()).any(|part| part == wanted);
    lines.filter(holds).filter_map(|line| from_slice(line).ok())
}

/// Returns the calls that a line makes: what a model said, and no more. Other lines tell of calls that were made elsewhere.
fn calls(line: &Value) -> impl Iterator<Item = &Value> {
    let is_said = line.get("type").and_then(Value::as_str) == Some("assistant");
    let said = line.get("message").filter(|_| is_said).and_then(|message| message.get("content")?.as_array());
    said.into_iter().flatten().filter(|part| part.get("type").and_then(Value::as_str) == Some("tool_use"))
}

#[cfg(test)]
mod tests {
    use super::{makes_call, names_given};

    // As both releases write them, without what does not matter here.
    const CALL: &str = r#"{"parentUuid":"c4eb","isSidechain":true,"agentId":"acd2cc6","message":{"id":"msg_3","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_cb33","name":"mcp__taskyard__TaskClaim","input":{"taskId":"2"}}]},"type":"assistant"}"#;
    const PROGRESS: &str = r#"{"agentId":"acd2cc6","type":"progress","data":{"type":"mcp_progress","status":"started"},"toolUseID":"toolu_cb33"}"#;
    const RESULT: &str = r#"{"agentId":"acd2cc6","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_cb33","type":"tool_result","content":[{"type":"text","text":"ok"}]}]}}"#;

    #[test]
    fn a_call_is_its_in_whose_transcript_the_model_makes_it() {
        let all = format!("{PROGRESS}\n{CALL}\n{RESULT}\n");
        assert!(makes_call(all.as_bytes(), "toolu_cb33"));
        for other in [PROGRESS, RESULT, &CALL[..CALL.len() - 1], ""] {
            assert!(!makes_call(other.as_bytes(), "toolu_cb33"), "{other}");
        }
        assert!(!makes_call(all.as_bytes(), "toolu_cb3"));
        assert!(!makes_call(all.as_bytes(), ""));
    }

    #[test]
    fn the_names_of_claims_are_found_each_once() {
        let named = |tool: &str, name: &str| {
            CALL.replace("mcp__taskyard__TaskClaim", tool)
                .replace(r#"{"taskId":"2"}"#, &format!(r#"{{"agent":"{name}"}}"#))
        };
        let claim = "mcp__plugin_taskyard_taskyard__TaskClaim";
        let all =
            [named(claim, "scout"), named(claim, "scout"), named(claim, " "), named("TaskClaim", "x"), CALL.into()];
        assert_eq!(names_given(all.join("\n").as_bytes()), ["scout"]);
    }
}
