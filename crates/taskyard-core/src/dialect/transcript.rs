//! Claude Code's transcript of a conversation, one JSON object per line: tool calls, directories and token use.

use std::collections::HashMap;

use serde_json::Value;

use crate::Timestamp;
use crate::json_text::from_slice;

/// The token use of a conversation, as reported by the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUse {
    /// Input tokens, excluding those from and to the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_creation: u64,
}

/// Adds up the token use of messages within any of the given time ranges. A message spread over several lines counts
/// once. Returns `None` if there is no such message.
pub fn used_within(transcript: &[u8], times: &[(Timestamp, Timestamp)]) -> Option<TokenUse> {
    let mut messages: HashMap<String, TokenUse> = HashMap::new();
    for line in lines_with(transcript, b"\"usage\"").filter(|line| line["type"] == "assistant") {
        let at = line["timestamp"].as_str().and_then(Timestamp::parse);
        let is_within = at.is_some_and(|at| times.iter().any(|(from, until)| (*from..=*until).contains(&at)));
        let (usage, id) = (&line["message"]["usage"], line["message"]["id"].as_str());
        if let Some(id) = id.filter(|_| is_within && usage.is_object()) {
            let tokens = |key: &str| usage[key].as_u64().unwrap_or(0);
            // The last line of a message has its final figures.
            messages.insert(
                id.to_owned(),
                TokenUse {
                    input: tokens("input_tokens"),
                    output: tokens("output_tokens"),
                    cache_read: tokens("cache_read_input_tokens"),
                    cache_creation: tokens("cache_creation_input_tokens"),
                },
            );
        }
    }
    let sum = |sum: TokenUse, used: &TokenUse| TokenUse {
        input: sum.input.saturating_add(used.input),
        output: sum.output.saturating_add(used.output),
        cache_read: sum.cache_read.saturating_add(used.cache_read),
        cache_creation: sum.cache_creation.saturating_add(used.cache_creation),
    };
    (!messages.is_empty()).then(|| messages.values().fold(TokenUse::default(), sum))
}

/// Returns the cost of the session in dollars, which newer clients record when a session ends.
pub fn session_cost(transcript: &[u8]) -> Option<f64> {
    let costs = lines_with(transcript, b"\"cost-state\"").filter(|line| line["type"] == "cost-state");
    costs.last().and_then(|line| line["totalCostUSD"].as_f64())
}

/// Returns the most recent directory of a conversation.
pub fn directory_of(transcript: &[u8]) -> Option<String> {
    lines_with(transcript, b"\"cwd\"").last().and_then(|line| line["cwd"].as_str().map(str::to_owned))
}

/// Returns whether a result in the transcript names an agent and a task on the same line, as the holder of the task.
pub fn names_holder(transcript: &[u8], agent: &str, task: &str) -> bool {
    let (named, number) = (format!("as {agent}"), format!("#{task}"));
    let mut lines = lines_with(transcript, named.as_bytes()).filter(|line| line["type"] == "user");
    lines.any(|line| {
        let text = line.to_string();
        has_word(&text, &named) && has_word(&text, &number)
    })
}

/// Returns whether a text contains a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '@'));
    text.match_indices(word).any(|(place, _)| !goes_on(&text[place + word.len()..]))
}

/// Returns whether the agent of a transcript made the call with this id. An incomplete line is ignored.
pub fn makes_call(transcript: &[u8], id: &str) -> bool {
    lines_with(transcript, id.as_bytes())
        .any(|line| calls(&line).any(|call| call.get("id").and_then(Value::as_str) == Some(id)))
}

/// Returns the names under which the agent of a transcript claimed tasks, without duplicates.
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

/// Returns whether a call claims a task with a tool of Taskyard, whatever name the server is registered under.
fn is_claim(call: &Value) -> bool {
    let tool = call.get("name").and_then(Value::as_str).unwrap_or_default();
    tool.starts_with("mcp__") && tool.ends_with("__TaskClaim")
}

/// Returns the JSON lines that contain the given bytes.
fn lines_with<'a>(transcript: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = Value> + 'a {
    let lines = transcript.split(|byte| *byte == b'\n');
    let holds = move |line: &&[u8]| !wanted.is_empty() && line.windows(wanted.len()).any(|part| part == wanted);
    lines.filter(holds).filter_map(|line| from_slice(line).ok())
}

/// Returns the tool calls in a line of model output. Other lines report calls made elsewhere.
fn calls(line: &Value) -> impl Iterator<Item = &Value> {
    let is_said = line.get("type").and_then(Value::as_str) == Some("assistant");
    let said = line.get("message").filter(|_| is_said).and_then(|message| message.get("content")?.as_array());
    said.into_iter().flatten().filter(|part| part.get("type").and_then(Value::as_str) == Some("tool_use"))
}

#[cfg(test)]
mod tests {
    use super::{TokenUse, directory_of, makes_call, names_given, names_holder, session_cost, used_within};
    use crate::Timestamp;

    // As both releases write it, without irrelevant keys.
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
    fn a_message_of_several_lines_is_counted_once() {
        let line = |id: &str, at: u32, output: u32| {
            format!(
                r#"{{"cwd":"/w","sessionId":"s","message":{{"id":"{id}","role":"assistant","usage":{{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":{output}}}}},"type":"assistant","timestamp":"2026-11-18T05:55:{at:02}.000Z"}}"#
            )
        };
        let cost = r#"{"type":"cost-state","sessionId":"s","totalCostUSD":0.25}"#;
        let all = [line("a", 1, 1), line("a", 2, 5), line("b", 3, 2), line("c", 50, 9), cost.into()].join("\n");
        let at = |text: &str| Timestamp::parse(&format!("2026-11-18T05:55:{text}.000Z")).unwrap();
        let used = used_within(all.as_bytes(), &[(at("00"), at("10"))]);
        assert_eq!(used, Some(TokenUse { input: 20, output: 7, cache_read: 14, cache_creation: 6 }));
        assert_eq!(used_within(all.as_bytes(), &[(at("11"), at("20"))]), None);
        assert_eq!((session_cost(all.as_bytes()), directory_of(all.as_bytes()).as_deref()), (Some(0.25), Some("/w")));
    }

    #[test]
    fn the_holder_of_a_task_is_named_by_an_answer() {
        let said = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"Claimed.\nTask #7: x\n\nYours, as claude-7f3a (token 12)."}]}}"#;
        assert!(names_holder(said.as_bytes(), "claude-7f3a", "7"));
        for (agent, task) in [("claude-7f3", "7"), ("claude-7f3a", "70"), ("ana", "7")] {
            assert!(!names_holder(said.as_bytes(), agent, task), "{agent} {task}");
        }
        assert!(!names_holder(said.replace("user", "assistant").as_bytes(), "claude-7f3a", "7"));
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
