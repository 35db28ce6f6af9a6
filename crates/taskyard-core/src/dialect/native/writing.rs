//! From a task to the bytes of its file.

use serde_json::{Map, Value};

use super::javascript::{pretty, stringify};
use super::schema::{LARGEST, SCHEMA};
use crate::json_text::{self, is_more_than_read, lower_case_lone_surrogates, print_over, print_over_as_javascript};
use crate::{Image, Rules, Task, TaskId};

/// The task's file would be larger than we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a task of {size} bytes is too large (the limit is {LARGEST})")]
pub struct TooLarge {
    /// How large it would be.
    pub size: usize,
}

/// Writes a task over what its file holds now.
///
/// Strict rules keep the order of the keys that are there and every key the client does not know. Client rules do what one
/// write of the client does: unknown keys go, known ones return to the schema's order, and a key that is new comes last.
pub fn write(over: Option<&Image>, task: &Task, rules: Rules) -> Result<Image, TooLarge> {
    let before = over.and_then(|image| json_text::from_slice::<Map<String, Value>>(image.bytes()).ok());
    let over = over.map(Image::bytes);
    let text = match rules {
        Rules::Strict => print_over(over, &Value::Object(strictly(before, task)), pretty),
        Rules::Client(_) => {
            let over = over.map(lower_case_lone_surrogates);
            print_over_as_javascript(over.as_deref(), &Value::Object(as_the_client(before, task)), stringify)
        }
    };
    if text.len() as u64 > LARGEST {
        return Err(TooLarge { size: text.len() });
    }
    Ok(Image::new(text.into_bytes()))
}

/// Returns the file of a task that came from another one, with the halves of surrogate pairs and the writings of numbers that were in that.
pub fn as_written_in(origin: &Image, image: Image) -> Image {
    match json_text::from_slice::<Value>(image.bytes()) {
        Ok(value) if is_more_than_read(origin.bytes()) => {
            Image::new(print_over(Some(origin.bytes()), &value, pretty).into_bytes())
        }
        _ => image,
    }
}

fn strictly(before: Option<Map<String, Value>>, task: &Task) -> Map<String, Value> {
    let mut object = before.unwrap_or_default();
    object.retain(|key, _| SCHEMA.contains(&key.as_str()) || task.extra.contains_key(key));
    for (place, key) in SCHEMA.iter().enumerate() {
        match field(task, key) {
            None => drop(object.shift_remove(*key)),
            Some(value) if object.contains_key(*key) => object[*key] = value,
            Some(value) => {
                let successor = object.keys().position(|other| SCHEMA[place + 1..].contains(&other.as_str()));
                let end = object.len();
                object.shift_insert(successor.unwrap_or(end), (*key).to_owned(), value);
            }
        }
    }
    for (key, value) in &task.extra {
        object.insert(key.clone(), value.clone());
    }
    object
}

fn as_the_client(before: Option<Map<String, Value>>, task: &Task) -> Map<String, Value> {
    let present = |key: &&&str| before.as_ref().is_none_or(|object| object.contains_key(**key));
    let kept = SCHEMA.iter().filter(present);
    let added = SCHEMA.iter().filter(|key| !present(key));
    kept.chain(added).filter_map(|key| Some(((*key).to_owned(), field(task, key)?))).collect()
}

fn field(task: &Task, key: &str) -> Option<Value> {
    let text = |text: &String| Value::String(text.clone());
    match key {
        "id" => Some(Value::String(task.id.as_str().to_owned())),
        "subject" => Some(text(&task.subject)),
        "description" => Some(text(&task.description)),
        "activeForm" => task.active_form.as_ref().map(text),
        "owner" => task.owner.as_ref().map(text),
        "status" => Some(Value::String(task.status.as_str().to_owned())),
        "blocks" => Some(ids(&task.blocks)),
        "blockedBy" => Some(ids(&task.blocked_by)),
        "metadata" => task.metadata.clone().map(Value::Object),
        _ => None,
    }
}

fn ids(ids: &[TaskId]) -> Value {
    Value::Array(ids.iter().map(|id| Value::String(id.as_str().to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::{as_written_in, write};
    use crate::dialect::native::read;
    use crate::{ClientVersion, Image, Rules, Task, TaskId};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn keys(image: &Image) -> Vec<String> {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(image.bytes()).unwrap();
        object.keys().cloned().collect()
    }

    #[test]
    fn a_new_file_has_the_schemas_order_and_no_newline_at_the_end() {
        let mut task = Task::new(TaskId::number(1), "First");
        task.description = "Do first".into();
        task.active_form = Some("Doing first".into());
        for rules in [Rules::Strict, CLIENT] {
            let image = write(None, &task, rules).unwrap();
            assert_eq!(
                std::str::from_utf8(image.bytes()).unwrap(),
                "{\n  \"id\": \"1\",\n  \"subject\": \"First\",\n  \"description\": \"Do first\",\n  \"activeForm\": \"Doing first\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": []\n}"
            );
        }
    }

    #[test]
    fn strict_rules_keep_unknown_keys_and_their_order() {
        let before = Image::new(
            br#"{"z":1.50,"status":"pending","id":"4","subject":"s","description":"d","blocks":[],"blockedBy":[],"a":{"y":1,"x":2}}"#
                .as_slice(),
        );
        let mut task = read(&TaskId::number(4), before.bytes()).unwrap();
        task.owner = Some("ana".into());
        let after = write(Some(&before), &task, Rules::Strict).unwrap();
        assert_eq!(keys(&after), ["z", "owner", "status", "id", "subject", "description", "blocks", "blockedBy", "a"]);
        assert!(std::str::from_utf8(after.bytes()).unwrap().contains("\"z\": 1.50"));
        assert_eq!(read(&TaskId::number(4), after.bytes()).unwrap(), task);
    }

    #[test]
    fn the_client_puts_a_new_key_last_and_in_its_place_on_the_next_write() {
        let id = TaskId::number(1);
        let mut task = Task::new(id.clone(), "s");
        let created = write(None, &task, CLIENT).unwrap();
        task.owner = Some("bob".into());
        let first = write(Some(&created), &task, CLIENT).unwrap();
        assert_eq!(keys(&first).last().unwrap(), "owner");
        task.subject = "t".into();
        let second = write(Some(&first), &task, CLIENT).unwrap();
        assert_eq!(keys(&second), ["id", "subject", "description", "owner", "status", "blocks", "blockedBy"]);
    }

    #[test]
    fn the_client_drops_what_it_does_not_know() {
        let before = Image::new(
            br#"{"id":"77","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"custom":1}"#
                .as_slice(),
        );
        let mut task = read(&TaskId::number(7), before.bytes()).unwrap();
        task.subject = "t".into();
        let after = write(Some(&before), &task, CLIENT).unwrap();
        assert_eq!(keys(&after), ["id", "subject", "description", "status", "blocks", "blockedBy"]);
        assert_eq!(read(&TaskId::number(7), after.bytes()).unwrap().stated_id, None);
    }

    #[test]
    fn half_a_surrogate_pair_is_kept_until_its_field_is_written() {
        let text = r#"{"id":"4","subject":"Fix \uD83d","description":"\udc00","status":"pending","blocks":["\ud83d","9"],"blockedBy":[],"metadata":{"\ud83d":"\ud83e","\ud83e":1,"a":1},"x\ud83d":"\ud83d"}"#;
        let before = Image::new(text.as_bytes());
        let mut task = read(&TaskId::number(4), before.bytes()).unwrap();
        task.owner = Some("ana".into());
        task.description = "new".into();
        task.blocks.pop();
        let strict = write(Some(&before), &task, Rules::Strict).unwrap();
        let compact: serde_json::Value =
            serde_json::from_slice(&crate::json_text::without_lone_surrogates(strict.bytes())).unwrap();
        assert_eq!(compact["metadata"]["a"], 1);
        let said = std::str::from_utf8(strict.bytes()).unwrap();
        for kept in [
            r#""subject": "Fix \uD83d""#,
            r#""description": "new""#,
            r#""\ud83d": "\ud83e""#,
            r#""\ud83e": 1"#,
            r#""x\ud83d": "\ud83d""#,
            r#""\ud83d"
  ]"#,
        ] {
            assert!(said.contains(kept), "{kept}: {said}");
        }
        assert_eq!(read(&TaskId::number(4), strict.bytes()).unwrap(), task);
        let client = write(Some(&before), &task, CLIENT).unwrap();
        let said = std::str::from_utf8(client.bytes()).unwrap();
        assert!(said.contains(r#""subject": "Fix \ud83d""#) && !said.contains("x\\ud83d"), "{said}");
        let elsewhere = as_written_in(&before, write(None, &task, Rules::Strict).unwrap());
        assert!(std::str::from_utf8(elsewhere.bytes()).unwrap().contains(r#""subject": "Fix \uD83d""#));
    }

    #[test]
    fn a_task_beyond_the_limit_is_not_written() {
        let mut task = Task::new(TaskId::number(1), "s");
        task.description = "x".repeat(17 * 1024 * 1024);
        assert!(write(None, &task, Rules::Strict).is_err());
    }
}
