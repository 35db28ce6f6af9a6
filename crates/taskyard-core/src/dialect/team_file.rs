//! Claude Code's team file, `config.json`, specified in `docs/formats/teams.md`.

use serde_json::{Map, Value};

use crate::dialect::native::stringify;
use crate::json_text::{from_slice, parseable, print_over_as_javascript};
use crate::{ClientVersion, LEAD, LeadProcess, Member, SpecialFile, Team, TeamName, Timestamp};

/// The maximum size of a team file in bytes, for reading and writing.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// Why a team file cannot be read. Such a file is never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTeamFile {
    /// It is not valid JSON; it may have been read during a write.
    #[error("no JSON: {why}")]
    NotJson {
        /// The parser's message.
        why: String,
    },
    /// It is JSON, but not a team.
    #[error("not a team file: {why}")]
    NotATeam {
        /// What is missing.
        why: &'static str,
    },
    /// It exceeds the size limit.
    #[error("{size} bytes are too large (the limit is {LARGEST})")]
    TooLarge {
        /// The size in bytes.
        size: u64,
    },
    /// It is not a regular file.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// The type of the file.
        found: SpecialFile,
    },
}

/// Parses a team. Members without a name are ignored, but kept in the file.
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

/// Parses the object of a team file.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, BadTeamFile> {
    match from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(BadTeamFile::NotATeam { why: "it is not an object" }),
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

/// The value the client writes for a member without its own window, and is known to accept.
const IN_PROCESS: &str = "in-process";

/// Serializes the file of a new team as this version of the client does.
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

/// Serializes a member as this version of the client does.
fn entry(member: &Member, version: ClientVersion) -> Map<String, Value> {
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

/// Adds a member to a team file, after the others; a member of the same name is replaced in place.
pub fn with_member(bytes: &[u8], member: &Member, version: ClientVersion) -> Result<Vec<u8>, BadTeamFile> {
    let new = Value::Object(entry(member, version));
    change(bytes, |members| match members.iter_mut().find(|entry| is_named(entry, &member.name)) {
        Some(old) => *old = new,
        None => members.push(new),
    })
}

/// Removes a member from a team file.
pub fn without_member(bytes: &[u8], name: &str) -> Result<Vec<u8>, BadTeamFile> {
    change(bytes, |members| members.retain(|entry| !is_named(entry, name)))
}

fn change(bytes: &[u8], change: impl FnOnce(&mut Vec<Value>)) -> Result<Vec<u8>, BadTeamFile> {
    let mut file: Map<String, Value> = object(bytes)?;
    let members = file.get_mut("members").and_then(Value::as_array_mut);
    change(members.ok_or(BadTeamFile::NotATeam { why: "it has no members" })?);
    Ok(print_over_as_javascript(Some(bytes), &Value::Object(file), stringify).into_bytes())
}

fn is_named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_str) == Some(name)
}

/// Recovers a team from a damaged file: the first JSON text if another follows it, otherwise everything before the
/// truncation. Returns `None` if that is not a team.
pub fn salvage(bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes = &*parseable(bytes);
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().next();
    if let Some(Ok(value)) = first {
        let text = stringify(&value).into_bytes();
        return read(&text).is_ok().then_some(text);
    }
    // Try the longest prefix that is a team once its open brackets are closed.
    let text = std::str::from_utf8(bytes)
        .unwrap_or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default());
    let ends = text.char_indices().filter(|(_, character)| *character == '}').map(|(place, _)| place + 1);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| {
        let closed = format!("{}{}", &text[..end], closing(&text[..end])?);
        let value: Value = serde_json::from_str(&closed).ok()?;
        let text = stringify(&value).into_bytes();
        let team = read(&text).ok()?;
        // Without its lead it is not the same team.
        (!team.members.is_empty()).then_some(text)
    })
}

/// Returns the brackets that close a truncated text, or `None` if it ends within a string.
fn closing(text: &str) -> Option<String> {
    let (mut open, mut in_string, mut is_escaped) = (Vec::new(), false, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    (!in_string).then(|| open.into_iter().rev().collect())
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
            [("{}", "it has no name"), ("[]", "it is not an object"), (r#"{"name":"a"}"#, "it has no members")]
        {
            assert_eq!(read(text.as_bytes()), Err(BadTeamFile::NotATeam { why }), "{text}");
        }
        assert!(matches!(read(b"{"), Err(BadTeamFile::NotJson { .. })));
    }
}

#[cfg(test)]
mod creating_tests {
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

#[cfg(test)]
mod changing_tests {
    use serde_json::{Value, json};

    use super::{with_member, without_member};
    use crate::{ClientVersion, Member};

    #[test]
    fn members_come_and_go_and_everything_else_stays() {
        let before = json!({"zz": 1, "name": "a", "members": [{"name": "team-lead", "odd": [1]}, 7], "hidden": {}});
        let bob = Member { name: "bob".into(), agent_id: "bob@a".into(), ..Member::default() };
        let after = with_member(before.to_string().as_bytes(), &bob, ClientVersion::V2_1_325).unwrap();
        let value: Value = serde_json::from_slice(&after).unwrap();
        assert_eq!(value["members"][2]["agentId"], "bob@a");
        assert_eq!(
            (&value["zz"], &value["members"][0]["odd"], &value["members"][1]),
            (&json!(1), &json!([1]), &json!(7))
        );
        let twice = with_member(&after, &bob, ClientVersion::V2_1_325).unwrap();
        assert_eq!(twice, after);
        let gone: Value = serde_json::from_slice(&without_member(&after, "bob").unwrap()).unwrap();
        assert_eq!(gone, before);
    }
}

#[cfg(test)]
mod salvaging_tests {
    use serde_json::{Value, json};

    use super::salvage;
    use crate::dialect::native::stringify;
    use crate::dialect::team_file::read;

    fn team() -> String {
        let member =
            |name: &str| json!({"agentId": format!("{name}@alpha"), "name": name, "joinedAt": 1, "extra": ["}"]});
        stringify(&json!({"name": "alpha", "createdAt": 5, "leadAgentId": "team-lead@alpha", "odd": {"a": 1},
            "members": [member("team-lead"), member("bob"), member("eve")]}))
    }

    fn members(bytes: &[u8]) -> Option<Vec<String>> {
        let saved = salvage(bytes)?;
        assert_eq!(serde_json::from_slice::<Value>(&saved).unwrap()["odd"]["a"], 1);
        Some(read(&saved).unwrap().members.into_iter().map(|member| member.name).collect())
    }

    #[test]
    fn members_before_the_cut_are_saved() {
        let whole = team();
        assert_eq!(members(whole.as_bytes()).unwrap().len(), 3);
        let in_eve = whole.find("eve@alpha").unwrap();
        assert_eq!(members(&whole.as_bytes()[..in_eve]).unwrap(), ["team-lead", "bob"]);
        let in_bob = whole.find("bob@alpha").unwrap();
        assert_eq!(members(&whole.as_bytes()[..in_bob]).unwrap(), ["team-lead"]);
        let in_lead = whole.find("team-lead@alpha\",\n      \"name").unwrap();
        assert_eq!(members(&whole.as_bytes()[..in_lead]), None);
    }

    #[test]
    fn new_text_followed_by_end_of_old_is_the_new_text() {
        let torn = format!("{}\n  ]\n}}", team());
        assert_eq!(members(torn.as_bytes()).unwrap().len(), 3);
        assert_eq!(salvage(b"[]"), None);
        assert_eq!(salvage(b""), None);
    }
}
