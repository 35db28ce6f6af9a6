//! The part of `docs/formats/json-output.md` that is written from the types.
//!
//! `TASKYARD_WRITE_ANSWERS=1 cargo test -p taskyard-testkit --test house` writes it anew.

use std::fmt::Write as _;
use std::{env, fs};

use serde_json::{Map, Value};

use super::catalogue::Catalogue;
use crate::documents::page::root;

const PAGE: &str = "docs/formats/json-output.md";
const BEGIN: &str =
    "<!-- answers: begin; written by TASKYARD_WRITE_ANSWERS=1 cargo test -p taskyard-testkit --test house -->\n";
const END: &str = "<!-- answers: end -->\n";

#[test]
fn page_has_the_answers_as_they_are() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let current = format!("{before}{BEGIN}{}{END}{after}", written(&Catalogue::new()));
    if env::var_os("TASKYARD_WRITE_ANSWERS").is_some() {
        return fs::write(root().join(PAGE), current).unwrap();
    }
    assert!(page == current, "{PAGE} is stale; write it with TASKYARD_WRITE_ANSWERS=1");
}

fn written(catalogue: &Catalogue) -> String {
    let mut page = "\n| command | answers |\n|---|---|\n".to_owned();
    for (row, names) in &catalogue.rows {
        let answers: Vec<String> = row.conditions().zip(names).map(|(when, name)| answer(when, name)).collect();
        let _ = writeln!(page, "| {} | {} |", quoted(row.commands.iter().copied(), ", "), answers.join("; "));
    }
    page.push_str("\n## Types\n\nA key is always there unless its type says \"if any\".\n");
    for (name, schema) in &catalogue.types {
        let _ = write!(page, "\n### {name}\n\n{}\n", text_of(schema, "description"));
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let _ = write!(page, "\nOne of {}.\n", quoted(words.iter().filter_map(Value::as_str), ", "));
        }
        if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
            let _ = write!(page, "\n{}.\n", either.iter().map(kind).collect::<Vec<_>>().join(" or "));
        }
        if let Some(keys) = schema.get("properties").and_then(Value::as_object) {
            page.push_str(&table(schema, keys));
        }
    }
    page.push('\n');
    page
}

fn answer(when: &str, name: &str) -> String {
    let link = format!("[{name}](#{})", name.to_ascii_lowercase());
    if when.is_empty() { link } else { format!("{when}: {link}") }
}

fn table(schema: &Value, keys: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut table = "\n| key | type | meaning |\n|---|---|---|\n".to_owned();
    for (key, schema) in keys {
        let absent = if required.iter().any(|name| name == key) { "" } else { ", if any" };
        let _ = writeln!(table, "| `{key}` | {}{absent} | {} |", kind(schema), text_of(schema, "description"));
    }
    table
}

/// Says of which type a value is.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return answer("", name.trim_start_matches("#/$defs/"));
    }
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
        return either.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |word: &str| match word {
        "array" => format!("array of {}", schema.get("items").map_or_else(|| "anything".to_owned(), kind)),
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("object of {}", kind(values)),
            _ => "object".to_owned(),
        },
        "integer" => "number".to_owned(),
        word => word.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(word)) => one(word),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or "),
        _ => "any value".to_owned(),
    }
}

fn text_of<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>, between: &str) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(between)
}
