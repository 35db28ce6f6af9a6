//! Members who come and go.

use serde_json::{Map, Value};

use super::creating::entry;
use super::reading::{BadTeamFile, object};
use crate::dialect::native::stringify;
use crate::json_text::print_over_as_javascript;
use crate::{ClientVersion, Member};

/// Writes a team's file with a member more, behind those that are there; one of that name is replaced where it stands.
pub fn with_member(bytes: &[u8], member: &Member, version: ClientVersion) -> Result<Vec<u8>, BadTeamFile> {
    let new = Value::Object(entry(member, version));
    change(bytes, |members| match members.iter_mut().find(|entry| is_named(entry, &member.name)) {
        Some(old) => *old = new,
        None => members.push(new),
    })
}

/// Writes a team's file without a member.
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

#[cfg(test)]
mod tests {
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
