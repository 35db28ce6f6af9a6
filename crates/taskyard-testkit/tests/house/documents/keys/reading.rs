//! Reads what `docs/formats/json-output.md` says: rows of its table, and examples in its blocks.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::shape::Shape;
use crate::documents::page::root;

/// What the page says of answers.
pub(super) struct Written {
    pub(super) rows: Vec<Row>,
    /// The values that many answers have, by what brackets call them: `task`, `entry`, `lease`.
    pub(super) shapes: BTreeMap<String, Shape>,
}

/// What the page says of the answers of some commands.
pub(super) struct Row {
    /// The commands as the page names them, `setup --all` or `job run`.
    pub(super) commands: Vec<String>,
    pub(super) shape: Shape,
}

impl Written {
    pub(super) fn read() -> Self {
        let page = fs::read_to_string(root().join("docs/formats/json-output.md")).unwrap();
        let page = page.split("## Errors").next().unwrap();
        let mut written = Self { rows: Vec::new(), shapes: BTreeMap::new() };
        let mut block = String::new();
        for line in page.lines() {
            if let Some(row) = line.strip_prefix("| `") {
                let (names, keys) = row.split_once(" | ").unwrap_or_else(|| panic!("not a row: {line}"));
                let names = names.split('`').step_by(2).filter(|name| !name.is_empty());
                written.rows.push(Row { commands: names.map(command_name).collect(), shape: row_shape(keys) });
            } else if let Some(text) = line.strip_prefix("    ") {
                block.push_str(text.trim());
                // An example goes over several lines, and ends with what it is an example of.
                if let Some((example, name)) = block.strip_suffix(')').and_then(|block| block.rsplit_once(" (")) {
                    written.add_example(name, &read_example(example));
                    block.clear();
                }
            }
        }
        assert!(block.is_empty(), "no name is given to the example {block}");
        written
    }

    fn add_example(&mut self, name: &str, example: &Value) {
        let mut shape = Shape::of(example);
        match name.strip_prefix("a ").or_else(|| name.strip_prefix("an ")) {
            Some(name) => self.shapes.entry(name.to_owned()).or_default().merge(shape),
            None => {
                shape.keys.remove("schema");
                self.rows.push(Row { commands: vec![name.to_owned()], shape });
            }
        }
    }
}

/// Returns a command without what is typed in place of upper-case words.
fn command_name(name: &str) -> String {
    let words = name.split(' ').filter(|word| !word.chars().all(|letter| letter.is_ascii_uppercase()));
    words.collect::<Vec<_>>().join(" ")
}

/// Reads an example in which `..` stands for what does not matter.
fn read_example(text: &str) -> Value {
    let whole = text.replace("{..}", "{}").replace("[..]", "[]").replace(":..", ":0");
    let whole = whole.replace("{a ", "\"a ").replace("task}", "task\"").replace("loss}", "loss\"");
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("not JSON: {error}\n{text}"))
}

/// Reads the keys of a row: names in backquotes, what is in them in braces. Round brackets explain, and hold no keys.
fn row_shape(text: &str) -> Shape {
    let plain = without_remarks(text);
    let mut letters = plain.as_str();
    let mut root = Shape::default();
    read_level(&mut letters, &mut root);
    root
}

fn without_remarks(text: &str) -> String {
    let mut depth = 0;
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// Reads until the brace that closes this level.
fn read_level(text: &mut &str, level: &mut Shape) {
    let mut newest: Option<String> = None;
    let mut said = String::new();
    while let Some(letter) = text.chars().next() {
        *text = &text[letter.len_utf8()..];
        match letter {
            '}' => return,
            '`' => {
                let (span, rest) = text.split_once('`').expect("backquotes come in pairs");
                *text = rest;
                if said.trim_end().ends_with(" as") || said.trim_end() == "as" {
                    level.named.push(span.to_owned());
                } else if is_key(span) {
                    level.keys.entry(span.to_owned()).or_default();
                    newest = Some(span.to_owned());
                }
                said.clear();
            }
            '{' => read_object(text, inner(level, newest.as_deref())),
            '[' => {
                let (words, rest) = text.split_once([']', '{']).expect("brackets are closed");
                if text[words.len()..].starts_with(']') {
                    inner(level, newest.as_deref())
                        .named
                        .push(words.trim_start_matches("as ").trim_matches('`').to_owned());
                    *text = rest;
                }
            }
            _ => said.push(letter),
        }
    }
}

fn read_object(text: &mut &str, of: &mut Shape) {
    if text.trim_start().starts_with('`') || text.trim_start().starts_with("as `") {
        return read_level(text, of);
    }
    // The keys are data: `{id: what is there}`.
    let (_, rest) = text.split_once(": ").expect("a map says what its values are");
    *text = rest;
    let mut values = Shape::default();
    if let Some(rest) = text.strip_prefix('{') {
        *text = rest;
        read_object(text, &mut values);
        let (_, rest) = text.split_once('}').expect("braces are closed");
        *text = rest;
    } else {
        let (name, rest) = text.split_once('}').expect("braces are closed");
        values.named.push(name.to_owned());
        *text = rest;
    }
    of.values = Some(Box::new(values));
}

fn inner<'a>(level: &'a mut Shape, newest: Option<&str>) -> &'a mut Shape {
    match newest {
        Some(key) => level.keys.get_mut(key).expect("it was put in"),
        None => level,
    }
}

fn is_key(span: &str) -> bool {
    span.starts_with(|letter: char| letter.is_ascii_lowercase())
        && span.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[test]
fn a_row_is_read_with_what_is_in_its_objects() {
    let shape = row_shape(
        "`tasks` [task], `counts` {`pending`, `done`} of all (`no`, a remark), `progress` {id: {`total`}}; `--flag`, `left` [{`list`}] |",
    );
    let keys: Vec<&str> = shape.keys.keys().map(String::as_str).collect();
    assert_eq!(keys, ["counts", "left", "progress", "tasks"]);
    assert_eq!(shape.keys["tasks"].named, ["task"]);
    assert!(shape.keys["counts"].keys.contains_key("pending"));
    assert!(shape.keys["progress"].values.as_ref().is_some_and(|values| values.keys.contains_key("total")));
    assert!(shape.keys["left"].keys.contains_key("list"));
}
