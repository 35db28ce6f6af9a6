//! Holds the answers against the page, both ways.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::answers::Answer;
use super::reading::{Row, Written};
use super::shape::Shape;
use crate::documents::page::root;

/// Answers that are the client's own objects.
const WITHOUT_SCHEMA: [&str; 2] = ["hook SessionStart", "hook SubagentStop"];

/// Keys of rare moments, and the tests of the binary that see them in an answer.
const SEEN_ELSEWHERE: [(&str, &str, &str); 4] = [
    ("a entry: dbUser", "[\"dbUser\"]", "crates/taskyard-cli/tests/fleet/postgres/roles.rs"),
    ("claim: freeAt", "[\"freeAt\"]", "crates/taskyard-cli/tests/fleet/two_sides/servers.rs"),
    ("a job: lost", "job[\"lost\"]", "crates/taskyard-cli/tests/agents/jobs/disk.rs"),
    ("a job: machine", "job[\"machine\"]", "crates/taskyard-cli/tests/fleet/two_sides/fleet_jobs.rs"),
];

/// What was found while answers were held against the page.
struct Held<'a> {
    written: &'a Written,
    /// Keys that some answer has, as `command: key.key`, or `a shape: key.key`.
    answered: BTreeSet<String>,
    faults: BTreeSet<String>,
}

/// What the page says of an object, under the name it says it of.
#[derive(Clone)]
struct Said<'a> {
    owner: String,
    path: String,
    shape: &'a Shape,
    /// What it says of the whole answer.
    top: &'a Shape,
}

impl<'a> Said<'a> {
    fn of(owner: String, shape: &'a Shape) -> Self {
        Self { owner, path: String::new(), shape, top: shape }
    }

    /// Returns what it says of a key.
    fn below(&self, key: &str) -> Option<Self> {
        let shape = self.shape.keys.get(key)?;
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Self { owner: self.owner.clone(), path, shape, top: self.top })
    }
}

impl<'a> Held<'a> {
    fn answer(&mut self, answer: &Answer) {
        let Some(object) = answer.value.as_object() else { return };
        // Other tests look after errors.
        if object.contains_key("error") && object.len() == 2 {
            return;
        }
        let fit =
            |row: &Row| row.commands.iter().filter(|name| answer.is_of(name)).map(|name| name.split(' ').count()).max();
        let best = self.written.rows.iter().filter_map(fit).max();
        let rows = self.written.rows.iter().filter(|row| fit(row).is_some() && fit(row) == best);
        let said: Vec<Said<'a>> = rows.map(|row| Said::of(row.commands.join(", "), &row.shape)).collect();
        if said.is_empty() {
            self.faults.insert(format!("`{}` has no row", answer.line));
        }
        let mut said = said;
        said = said.into_iter().flat_map(|said| self.with_named(said)).collect();
        for (key, value) in object.iter().filter(|(key, _)| *key != "schema") {
            // An answer that went to another list names it.
            if key != "list" || said.iter().any(|said| said.shape.keys.contains_key("list")) {
                self.key(&said, key, value);
            }
        }
    }

    /// Returns what is said, and what is said in the places that it names.
    fn with_named(&self, said: Said<'a>) -> Vec<Said<'a>> {
        let mut all = Vec::new();
        for name in &said.shape.named {
            if let Some(shape) = self.written.shapes.get(name) {
                all.push(Said::of(format!("a {name}"), shape));
            } else if let Some(shape) = said.top.keys.get(name) {
                // `{id: changes}`: as the key of that name in the same answer.
                all.push(Said { path: name.clone(), shape, ..said.clone() });
            } else {
                let rows = self.written.rows.iter().filter(|row| row.commands.contains(name));
                all.extend(rows.map(|row| Said::of(row.commands.join(", "), &row.shape)));
            }
        }
        all.push(said);
        all
    }

    fn key(&mut self, said: &[Said<'a>], key: &str, value: &Value) {
        let below: Vec<Said<'a>> = said.iter().filter_map(|said| said.below(key)).collect();
        for below in &below {
            self.answered.insert(format!("{}: {}", below.owner, below.path));
        }
        if below.is_empty() {
            // A task has whatever its file has.
            if !said.iter().any(|said| said.owner == "a task") {
                let owners: Vec<_> = said.iter().map(|said| format!("{} {}", said.owner, said.path)).collect();
                self.faults.insert(format!("{}: answers `{key}`, of which the page says nothing", owners.join(" or ")));
            }
            return;
        }
        self.value(&below, key, value);
    }

    fn value(&mut self, said: &[Said<'a>], key: &str, value: &Value) {
        match value {
            Value::Array(elements) => elements.iter().for_each(|element| self.value(said, key, element)),
            // What is there is the user's, or is for the test of errors.
            Value::Object(_) if key == "metadata" || key == "error" => {}
            Value::Object(object) => {
                let maps: Vec<Said<'a>> = said
                    .iter()
                    .filter_map(|said| Some(Said { shape: said.shape.values.as_deref()?, ..said.clone() }))
                    .collect();
                if !maps.is_empty() {
                    return object.values().for_each(|value| self.value(&maps, key, value));
                }
                let mut all: Vec<Said<'a>> = said.iter().cloned().flat_map(|said| self.with_named(said)).collect();
                if said.iter().all(|said| *said.shape == Shape::default()) {
                    let called = self.written.shapes.iter().find(|(name, _)| is_called(key, name));
                    all.extend(called.map(|(name, shape)| Said::of(format!("a {name}"), shape)));
                }
                for (key, value) in object {
                    self.key(&all, key, value);
                }
            }
            _ => {}
        }
    }
}

/// Tells whether a key is called like a shape: `tasks` like `task`.
fn is_called(key: &str, shape: &str) -> bool {
    key == shape || key.strip_suffix('s') == Some(shape)
}

/// Lists the keys of a shape with the keys of what is in it.
fn all_keys(owner: &str, path: &str, shape: &Shape, keys: &mut BTreeSet<String>) {
    for (key, inner) in &shape.keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        all_keys(owner, &path, inner, keys);
        if let Some(values) = &inner.values {
            all_keys(owner, &path, values, keys);
        }
        keys.insert(format!("{owner}: {path}"));
    }
}

/// Commands that answer with no object of ours: they fill the screen, speak another protocol, or only have commands below them.
const WITHOUT_ANSWER: [&str; 9] = ["board", "db", "hook", "job", "mcp", "task", "team", "todo", "token"];

#[test]
fn every_command_has_a_row() {
    let reference = fs::read_to_string(root().join("docs/cli-reference.md")).unwrap();
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## taskyard "));
    let commands: Vec<&str> = commands.filter(|command| !WITHOUT_ANSWER.contains(command)).collect();
    assert!(commands.len() > 50, "only {commands:?} were found");
    let written = Written::read();
    let has_row = |command: &&&str| written.rows.iter().any(|row| row.commands.iter().any(|name| name == **command));
    let missing: Vec<_> = commands.iter().filter(|command| !has_row(command)).collect();
    assert!(missing.is_empty(), "docs/formats/json-output.md has no row for {missing:?}");
}

#[test]
fn every_key_of_an_answer_is_written_down_and_every_key_that_is_written_down_is_answered() {
    let written = Written::read();
    let answers = Answer::all();
    assert!(written.rows.len() > 60, "the page tells of {} commands", written.rows.len());
    assert!(answers.len() > 250, "only {} answers were found", answers.len());

    let mut held = Held { written: &written, answered: BTreeSet::new(), faults: BTreeSet::new() };
    answers.iter().for_each(|answer| held.answer(answer));
    for (key, asserted, test) in SEEN_ELSEWHERE {
        let test = fs::read_to_string(root().join(test)).unwrap();
        assert!(test.contains(asserted), "no test sees {key}");
        held.answered.insert(key.to_owned());
    }

    let mut promised = BTreeSet::new();
    for row in written.rows.iter().filter(|row| !WITHOUT_SCHEMA.contains(&row.commands[0].as_str())) {
        all_keys(&row.commands.join(", "), "", &row.shape, &mut promised);
    }
    for (name, shape) in &written.shapes {
        all_keys(&format!("a {name}"), "", shape, &mut promised);
    }
    let silent = promised.difference(&held.answered).map(|key| format!("{key}: no test has seen it answered"));
    let faults: Vec<String> = held.faults.iter().cloned().chain(silent).collect();
    assert!(faults.is_empty(), "docs/formats/json-output.md and the snapshots of commands\n{}", faults.join("\n"));
}
