//! The client's own events, key for key in its order.

use serde::Serialize;
use serde_json::Value;

/// What every event begins with.
#[derive(Clone, Debug, Serialize)]
pub struct Common<'a> {
    /// The client's session; empty where there is none.
    pub session_id: &'a str,
    /// The file the session is written down in; empty where there is none.
    pub transcript_path: &'a str,
    /// The working directory.
    pub cwd: &'a str,
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Teammate {
    /// The member's name.
    #[serde(rename = "teammate_name")]
    pub name: String,
    /// The team's name.
    #[serde(rename = "team_name")]
    pub team: String,
}

/// `TaskCreated` and `TaskCompleted`.
#[derive(Clone, Debug, Serialize)]
pub struct TaskEventInput<'a> {
    /// What every event begins with.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// The task.
    pub task_id: &'a str,
    /// Its title, as it is before the change.
    pub task_subject: &'a str,
    /// What there is to do, as it is before the change.
    pub task_description: &'a str,
    /// Who acts, where that is a member of a team.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub teammate: Option<&'a Teammate>,
}

/// `SubagentStop`: the client's keys, then those of the document format.
#[derive(Clone, Debug, Serialize)]
pub struct SubagentStopInput<'a> {
    /// What every event begins with.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// What the agent may do without asking.
    pub permission_mode: &'a str,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// Whether the agent goes on only because a hook blocked its end before.
    pub stop_hook_active: bool,
    /// The agent.
    pub agent_id: &'a str,
    /// The file its work is written down in; empty where there is none.
    pub agent_transcript_path: &'a str,
    /// What kind of agent it is.
    pub agent_type: &'a str,
    /// The tasks it completed.
    pub tasks_completed: Vec<&'a str>,
    /// What came of its work.
    pub result: &'a Value,
}

/// `TeammateIdle`.
#[derive(Clone, Debug, Serialize)]
pub struct TeammateIdleInput<'a> {
    /// What every event begins with.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// What the agent may do without asking.
    pub permission_mode: &'a str,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// The idle member.
    #[serde(flatten)]
    pub teammate: &'a Teammate,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Common, SubagentStopInput, TaskEventInput, Teammate, TeammateIdleInput};

    const COMMON: Common<'static> = Common { session_id: "s", transcript_path: "/t.jsonl", cwd: "/w" };

    #[test]
    fn a_task_event_has_the_clients_keys_in_its_order() {
        let bob = Teammate { name: "bob".into(), team: "alpha".into() };
        let mut input = TaskEventInput {
            common: COMMON,
            hook_event_name: "TaskCompleted",
            task_id: "1",
            task_subject: "A",
            task_description: "B",
            teammate: None,
        };
        let alone = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","hook_event_name":"TaskCompleted","task_id":"1","task_subject":"A","task_description":"B"}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), alone);
        input.teammate = Some(&bob);
        let together = alone.replace('}', r#","teammate_name":"bob","team_name":"alpha"}"#);
        assert_eq!(serde_json::to_string(&input).unwrap(), together);
    }

    #[test]
    fn an_agents_end_has_the_clients_keys_and_then_those_of_the_document_format() {
        let result = json!({"exitCode": 0});
        let input = SubagentStopInput {
            common: COMMON,
            permission_mode: "default",
            hook_event_name: "SubagentStop",
            stop_hook_active: false,
            agent_id: "a1",
            agent_transcript_path: "",
            agent_type: "builder",
            tasks_completed: vec!["3"],
            result: &result,
        };
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","permission_mode":"default","hook_event_name":"SubagentStop","stop_hook_active":false,"agent_id":"a1","agent_transcript_path":"","agent_type":"builder","tasks_completed":["3"],"result":{"exitCode":0}}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), text);
    }

    #[test]
    fn an_idle_teammate_is_named_last() {
        let bob = Teammate { name: "bob".into(), team: "alpha".into() };
        let input = TeammateIdleInput {
            common: COMMON,
            permission_mode: "default",
            hook_event_name: "TeammateIdle",
            teammate: &bob,
        };
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","permission_mode":"default","hook_event_name":"TeammateIdle","teammate_name":"bob","team_name":"alpha"}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), text);
    }
}
