//! The first file of a team, and what a member looks like in it.

use serde_json::{Map, Value};

use crate::dialect::native::stringify;
use crate::{ClientVersion, LEAD, Member, Team};

/// What the client writes for a member that has no window of its own; it is what it was seen to accept.
const IN_PROCESS: &str = "in-process";

/// Writes the file of a new team as the client of that version does.
pub fn create(team: &Team, version: ClientVersion) -> Vec<u8> {
    let mut file = Map::new();
    file.insert("name".to_owned(), team.name.as_str().into());
    if let Some(description) = &team.description {
        file.insert("description".to_owned(), description.as_str().into());
    }
    file.insert("createdAt".to_owned(), team.created_at.0.into());
    file.insert("leadAgentId".to_owned(), team.name.agent_id(LEAD).into());
    file.insert("leadSessionId".to_owned(), team.lead_session.clone().unwrap_or_default().into());
    let members = team.members.iter().map(|member| Value::Object(entry(member, version)));
    file.insert("members".to_owned(), members.collect());
    stringify(&Value::Object(file)).into_bytes()
}

/// Returns a member as the client of that version writes it.
pub(super) fn entry(member: &Member, version: ClientVersion) -> Map<String, Value> {
    let is_old = version == ClientVersion::V2_1_34;
    let order: &[&str] = match (member.is_lead(), is_old) {
        (true, true) => &["agentId", "name", "agentType", "model", "joinedAt", "tmuxPaneId", "cwd", "subscriptions"],
        (true, false) => {
            &["agentId", "name", "agentType", "joinedAt", "tmuxPaneId", "cwd", "subscriptions", "backendType"]
        }
        (false, true) => &[
            "agentId",
            "name",
            "agentType",
            "model",
            "prompt",
            "color",
            "planModeRequired",
            "joinedAt",
            "tmuxPaneId",
            "cwd",
            "subscriptions",
            "backendType",
        ],
        (false, false) => &[
            "agentId",
            "name",
            "color",
            "joinedAt",
            "tmuxPaneId",
            "subscriptions",
            "agentType",
            "model",
            "prompt",
            "planModeRequired",
            "cwd",
            "backendType",
        ],
    };
    let pane = match (member.is_lead(), is_old) {
        (true, true) => "",
        (true, false) => "leader",
        (false, _) => IN_PROCESS,
    };
    let field = |key: &str| -> Option<Value> {
        match key {
            "agentId" => Some(member.agent_id.as_str().into()),
            "name" => Some(member.name.as_str().into()),
            "agentType" => member.agent_type.as_deref().map(Into::into),
            "model" => member.model.as_deref().map(Into::into),
            "prompt" => member.prompt.as_deref().map(Into::into),
            "color" => member.color.as_deref().map(Into::into),
            "planModeRequired" => Some(member.plan_mode_required.into()),
            "joinedAt" => Some(member.joined_at.0.into()),
            "tmuxPaneId" => Some(member.pane.as_deref().unwrap_or(pane).into()),
            "cwd" => member.cwd.as_deref().map(Into::into),
            "subscriptions" => Some(Value::Array(Vec::new())),
            _ => Some(member.backend_type.as_deref().unwrap_or(IN_PROCESS).into()),
        }
    };
    order.iter().filter_map(|key| Some(((*key).to_owned(), field(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::create;
    use crate::{ClientVersion, Member, Team, TeamName, Timestamp};

    #[test]
    fn a_new_team_is_written_as_2_1_34_wrote_it() {
        let name = TeamName::new("My Team!").unwrap();
        let lead = Member {
            name: "team-lead".into(),
            agent_id: name.agent_id("team-lead"),
            agent_type: Some("team-lead".into()),
            model: Some("claude-sonnet-4-5-20250929".into()),
            joined_at: Timestamp(1794704194154),
            cwd: Some("$HOME/work".into()),
            ..Member::default()
        };
        let team = Team {
            name,
            description: Some("team desc".into()),
            created_at: Timestamp(1794704194154),
            lead_session: Some("11111111-2222-4333-8444-555555555555".into()),
            lead_process: None,
            members: vec![lead],
        };
        let recorded = "{\n  \"name\": \"My Team!\",\n  \"description\": \"team desc\",\n  \"createdAt\": 1794704194154,\n  \"leadAgentId\": \"team-lead@My Team!\",\n  \"leadSessionId\": \"11111111-2222-4333-8444-555555555555\",\n  \"members\": [\n    {\n      \"agentId\": \"team-lead@My Team!\",\n      \"name\": \"team-lead\",\n      \"agentType\": \"team-lead\",\n      \"model\": \"claude-sonnet-4-5-20250929\",\n      \"joinedAt\": 1794704194154,\n      \"tmuxPaneId\": \"\",\n      \"cwd\": \"$HOME/work\",\n      \"subscriptions\": []\n    }\n  ]\n}";
        assert_eq!(String::from_utf8(create(&team, ClientVersion::V2_1_34)).unwrap(), recorded);
    }
}
