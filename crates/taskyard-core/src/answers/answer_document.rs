//! The object around every answer, its schema settings and JSON that is safe to display.

use std::borrow::Cow;
use std::io;
use std::io::Write;

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Serializer, Value};

use crate::render::escaping::is_unsafe;

/// The version of all answers.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) enum AnswerVersion {
    #[allow(missing_docs)]
    #[serde(rename = "taskyard/1")]
    V1,
}

/// One answer: the version first, then the keys of the answer, and the list if it has to be named.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: AnswerVersion,
    #[serde(flatten)]
    body: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<&'a str>,
}

impl<'a, T> Document<'a, T> {
    /// Wraps an answer. `other_list` is the list it is about if that is not the directory's own.
    pub fn new(body: T, other_list: Option<&'a str>) -> Self {
        Self { schema: AnswerVersion::V1, body, list: other_list }
    }
}

/// Writes something as JSON on one line, with every character escaped that could steer a terminal.
pub fn write_line(body: impl Serialize, writer: &mut impl Write) -> io::Result<()> {
    body.serialize(&mut Serializer::with_formatter(&mut *writer, Careful))?;
    writer.write_all(b"\n")
}

/// Returns an answer as its bytes, on one line without its end.
pub fn to_vec(body: impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail, and the keys of answers are text.
    let _ = write_line(Document::new(body, None), &mut bytes);
    bytes.pop();
    bytes
}

/// The schema has the name of the answer, and its keys.
impl<T: JsonSchema> JsonSchema for Document<'_, T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Document<{}>", module_path!(), T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let keys = schema.remove("properties").and_then(|keys| keys.as_object().cloned()).unwrap_or_default();
        let mut all = Map::from_iter([("schema".to_owned(), generator.subschema_for::<AnswerVersion>().to_value())]);
        all.extend(keys);
        all.entry("list").or_insert_with(|| {
            serde_json::json!({"type": "string", "description": "The list that was written to, if it is not the directory's own"})
        });
        schema.insert("properties".to_owned(), all.into());
        let required = schema.remove("required").and_then(|keys| keys.as_array().cloned()).unwrap_or_default();
        let required: Vec<Value> = [Value::from("schema")].into_iter().chain(required).collect();
        schema.insert("required".to_owned(), required.into());
        schema
    }
}

/// Returns the settings for schemas of what is answered: a key that may be absent is not required, and never null.
pub fn schema_settings() -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.meta_schema = None);
    settings.with_transform(words_as_enum).with_transform(absent_is_not_null)
}

/// Writes words as one `enum`, which every generator of clients understands, with what each means in the description.
pub fn words_as_enum(schema: &mut Schema) {
    let variants = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let word = |variant: &Value| variant.get("const").and_then(Value::as_str).map(str::to_owned);
    let words_of = |variant: &Value| match variant.get("enum").and_then(Value::as_array) {
        Some(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
        None => vec![word(variant)],
    };
    let words: Option<Vec<String>> = variants.iter().flat_map(words_of).collect();
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        let meaning =
            |variant: &Value| Some(format!("`{}`: {}", word(variant)?, variant.get("description")?.as_str()?));
        let meanings: Vec<String> = variants.iter().filter_map(meaning).collect();
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = [about, &meanings.join("; ")].join(" ");
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), words.into());
        schema.insert("description".to_owned(), about.trim().into());
    }
    transform_subschemas(&mut words_as_enum, schema);
}

/// Takes `null` away from keys that are left out instead.
fn absent_is_not_null(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let keys = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, key) in keys.into_iter().flatten().filter(|(name, _)| !required.iter().any(|known| known == *name)) {
        let Some(key) = key.as_object_mut() else { continue };
        if let Some(Value::Array(types)) = key.get_mut("type") {
            types.retain(|one| one != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                key.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(words)) = key.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(either)) = key.get_mut("anyOf") {
            either.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
            if let [Value::Object(only)] = &either[..] {
                let only = only.clone();
                key.remove("anyOf");
                key.extend(only);
            }
        }
    }
    transform_subschemas(&mut absent_is_not_null, schema);
}

/// Writes JSON on one line, with every character escaped that could steer a terminal. It reads as the same text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Careful;

impl Formatter for Careful {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Everything below 0x7f that could do harm is escaped already.
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        let mut rest = fragment;
        while let Some((at, found)) = rest.char_indices().find(|(_, character)| is_unsafe(*character)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + found.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::{Document, schema_settings};

    /// How it went.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Grade {
        Good,
        /// It could be worse
        Fair,
    }

    /// An answer.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        needed: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<Grade>,
    }

    #[test]
    fn version_comes_first_and_absent_keys_are_never_null() {
        let schema = schema_settings().into_generator().into_root_schema_for::<Document<'_, Sample>>();
        assert_eq!(schema.get("title"), Some(&json!("Sample")));
        assert_eq!(schema.get("required"), Some(&json!(["schema", "needed"])));
        let keys: Vec<_> = schema.get("properties").unwrap().as_object().unwrap().keys().collect();
        assert_eq!(keys, ["schema", "needed", "leftOut", "list"]);
        let key = |name: &str| schema.pointer(&format!("/properties/{name}")).unwrap().clone();
        assert_eq!(key("needed")["type"], json!(["integer", "null"]));
        assert_eq!(key("leftOut"), json!({"$ref": "#/$defs/Grade"}));
        let answer =
            serde_json::to_value(Document::new(Sample { needed: None, left_out: None }, Some("other"))).unwrap();
        assert_eq!(answer, json!({"schema": "taskyard/1", "needed": null, "list": "other"}));
    }

    #[test]
    fn documented_words_are_one_enum() {
        let schema = schema_settings().into_generator().into_root_schema_for::<Grade>();
        assert_eq!(schema.get("enum"), Some(&json!(["good", "fair"])));
        assert_eq!(schema.get("oneOf"), None);
        assert_eq!(schema.get("description"), Some(&json!("How it went. `fair`: It could be worse")));
    }
}

#[cfg(test)]
mod careful_tests {
    use serde::Serialize as _;
    use serde_json::{Serializer, Value, json};

    use super::Careful;

    #[test]
    fn control_sequences_are_escaped_and_round_trip() {
        let value = json!({"a\u{9b}": "x\u{1b}[2J\u{7f}\u{9b}31m \u{202e}\u{e0041} Grüße 日本"});
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, Careful)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, r#"{"a\u009b":"x\u001b[2J\u007f\u009b31m \u202e\udb40\udc41 Grüße 日本"}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
