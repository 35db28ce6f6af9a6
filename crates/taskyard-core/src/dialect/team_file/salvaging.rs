//! What can still be read of a team's file that is not whole.

use serde_json::Value;

use super::reading::read;
use crate::dialect::native::stringify;
use crate::json_text::parseable;

/// Saves a team from a file that is not whole: the first text in it where another stands behind, else everything before the cut. None
/// where that is no team.
pub fn salvage(bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes = &*parseable(bytes);
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().next();
    if let Some(Ok(value)) = first {
        let text = stringify(&value).into_bytes();
        return read(&text).is_ok().then_some(text);
    }
    // The longest beginning that is a team once what is open in it is closed.
    let text = std::str::from_utf8(bytes)
        .unwrap_or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default());
    let ends = text.char_indices().filter(|(_, character)| *character == '}').map(|(place, _)| place + 1);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| {
        let closed = format!("{}{}", &text[..end], closing(&text[..end])?);
        let value: Value = serde_json::from_str(&closed).ok()?;
        let text = stringify(&value).into_bytes();
        let team = read(&text).ok()?;
        // Without its lead it is not the team it was.
        (!team.members.is_empty()).then_some(text)
    })
}

/// Returns the brackets that are open at the end of a text, closed; none where a string is.
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
    fn a_new_text_with_the_end_of_the_old_one_behind_it_is_the_new_one() {
        let torn = format!("{}\n  ]\n}}", team());
        assert_eq!(members(torn.as_bytes()).unwrap().len(), 3);
        assert_eq!(salvage(b"[]"), None);
        assert_eq!(salvage(b""), None);
    }
}
