//! From the bytes of a team's file to the team.

use serde_json::{Map, Value};

use crate::json_text::from_slice;
use crate::{LeadProcess, Member, SpecialFile, Team, TeamName, Timestamp};

/// The largest file of a team we read or write.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// Why a team cannot be read from a file. It is then never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTeamFile {
    /// It is no JSON; perhaps it is being written this moment.
    #[error("no JSON: {why}")]
    NotJson {
        /// What the parser said.
        why: String,
    },
    /// It is JSON, and no team.
    #[error("no team: {why}")]
    NotATeam {
        /// What is missing.
        why: &'static str,
    },
    /// It is larger than we read.
    #[error("{size} bytes are too many (the limit is {LARGEST})")]
    TooLarge {
        /// How large it is.
        size: u64,
    },
    /// It is no regular file.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// What it is.
        found: SpecialFile,
    },
}

/// Reads a team. Members without a name are passed over, and kept.
pub fn read(bytes: &[u8]) -> Result<Team, BadTeamFile> {
    let object = object(bytes)?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").and_then(|name| TeamName::new(name).ok());
    let name = name.ok_or(BadTeamFile::NotATeam { why: "it has no name" })?;
    let members = object.get("members").and_then(Value::as_array);
    let members = members.ok_or(BadTeamFile::NotATeam { why: "it has no members" })?;
    Ok(Team {
        name,
        description: text("description"),
        created_at: moment(object.get("createdAt")),
        lead_session: text("leadSessionId"),
        lead_process: object.get("leadProcess").and_then(lead_process),
        members: members.iter().filter_map(member).collect(),
    })
}

/// Returns the object that a team's file holds.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, BadTeamFile> {
    match from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(BadTeamFile::NotATeam { why: "it is no object" }),
        Err(error) => Err(BadTeamFile::NotJson { why: error.to_string() }),
    }
}

fn lead_process(process: &Value) -> Option<LeadProcess> {
    Some(LeadProcess {
        pid: u32::try_from(process.get("pid")?.as_u64()?).ok()?,
        pid_space: process.get("pidSpace").and_then(Value::as_str).map(str::to_owned),
        started: process.get("procStart").and_then(|started| started.as_str()?.parse().ok()),
    })
}

fn member(entry: &Value) -> Option<Member> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").filter(|name| !name.is_empty())?;
    Some(Member {
        agent_id: text("agentId").unwrap_or_default(),
        agent_type: text("agentType"),
        model: text("model"),
        prompt: text("prompt"),
        color: text("color"),
        plan_mode_required: entry.get("planModeRequired").and_then(Value::as_bool).unwrap_or(false),
        joined_at: moment(entry.get("joinedAt")),
        cwd: text("cwd"),
        backend_type: text("backendType"),
        pane: text("tmuxPaneId"),
        name,
    })
}

fn moment(value: Option<&Value>) -> Timestamp {
    let milliseconds = value.and_then(|value| value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)));
    Timestamp(milliseconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{BadTeamFile, read};
    use crate::LeadProcess;

    #[test]
    fn a_team_of_the_newest_client_is_read() {
        let text = r#"{"name":"session-11111111","createdAt":1794704431773,"leadAgentId":"team-lead@session-11111111",
            "leadSessionId":"1111","leadProcess":{"pid":3837,"pidSpace":"vm","procStart":"174244"},"members":[
            {"agentId":"team-lead@session-11111111","name":"team-lead","agentType":"team-lead","joinedAt":1,"cwd":"/w"},
            {"agentId":"bob@session-11111111","name":"bob","color":"blue","joinedAt":2.5,"planModeRequired":true},{"odd":1}]}"#;
        let team = read(text.as_bytes()).unwrap();
        let lead = LeadProcess { pid: 3837, pid_space: Some("vm".into()), started: Some(174244) };
        assert_eq!(
            (team.name.as_str(), team.lead_process.clone(), team.members.len()),
            ("session-11111111", Some(lead), 2)
        );
        let bob = team.member("bob").unwrap();
        assert_eq!((bob.colour(), bob.plan_mode_required, bob.joined_at.0), (Some("blue"), true, 2));
        assert_eq!((team.lead(), team.members[0].colour()), ("team-lead", Some("red")));
    }

    #[test]
    fn what_is_no_team_is_told() {
        for (text, why) in
            [("{}", "it has no name"), ("[]", "it is no object"), (r#"{"name":"a"}"#, "it has no members")]
        {
            assert_eq!(read(text.as_bytes()), Err(BadTeamFile::NotATeam { why }), "{text}");
        }
        assert!(matches!(read(b"{"), Err(BadTeamFile::NotJson { .. })));
    }
}
