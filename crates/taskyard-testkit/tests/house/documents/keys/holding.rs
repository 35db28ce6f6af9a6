//! Holds the answers against the types, both ways.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value};

use super::answers::Answer;
use super::catalogue::{Catalogue, Row};
use crate::documents::page::root;

/// Keys of rare moments, and the tests of the binary that see them in an answer.
const SEEN_ELSEWHERE: [(&str, &str, &str); 15] = [
    ("WorkReport.inReview", "[\"inReview\"]", "crates/taskyard-cli/tests/agents/working/worktrees.rs"),
    ("Tidied.worktrees", "[\"worktrees\"]", "crates/taskyard-cli/tests/agents/working/worktrees.rs"),
    ("Entry.dbUser", "[\"dbUser\"]", "crates/taskyard-cli/tests/fleet/postgres/roles.rs"),
    ("ClaimLost.freeAt", "[\"freeAt\"]", "crates/taskyard-cli/tests/fleet/two_sides/servers.rs"),
    ("Job.lost", "job[\"lost\"]", "crates/taskyard-cli/tests/agents/jobs/disk.rs"),
    ("Job.machine", "job[\"machine\"]", "crates/taskyard-cli/tests/fleet/two_sides/fleet_jobs.rs"),
    ("Updated.blockLeft", "[\"blockLeft\"]", "crates/taskyard-cli/tests/commands/dialects.rs"),
    ("Created.blockLeft", "created[\"blockLeft\"]", "crates/taskyard-cli/tests/commands/dialects.rs"),
    ("NotCreated.task", ".get(\"task\")", "crates/taskyard-cli/tests/commands/edit.rs"),
    ("Prime.run", "unwrap()[\"run\"]", "crates/taskyard-cli/tests/agents/working/runs.rs"),
    ("Ready.staleOwner", "[\"staleOwner\"]", "crates/taskyard-cli/tests/agents/mcp/clients.rs"),
    ("WatchedReturn.op", "told[\"op\"]", "crates/taskyard-cli/tests/fleet/postgres/sharing.rs"),
    ("WatchedReturn.revision", "told[\"revision\"]", "crates/taskyard-cli/tests/fleet/postgres/sharing.rs"),
    ("WorkReport.leftBehind", "[\"leftBehind\"]", "crates/taskyard-cli/tests/agents/working/runs.rs"),
    ("Lists.more", "[\"more\"]", "crates/taskyard-cli/tests/browser/web/answers.rs"),
];

/// Types that have the keys of another and more; a key that is seen in one of both counts for both.
const WITH_KEYS_OF: [(&str, &str); 2] = [("RefusedClaim", "ClaimLost"), ("WatchedEntry", "Entry")];

/// What was found while answers were held against the types.
struct Held<'a> {
    types: &'a Map<String, Value>,
    /// Keys that some answer has, as `Type.key`.
    answered: BTreeSet<String>,
    faults: BTreeSet<String>,
}

impl<'a> Held<'a> {
    fn answer(&mut self, answer: &Answer, rows: &'a [(Row, Vec<String>)]) {
        let Some(object) = answer.value.as_object() else { return };
        // Other tests look after errors.
        if object.contains_key("error") && object.len() == 2 {
            return;
        }
        let fit = |(row, _): &&(Row, Vec<String>)| {
            row.commands.iter().filter(|name| answer.is_of(name)).map(|name| name.split(' ').count()).max()
        };
        let best = rows.iter().filter_map(|row| fit(&row)).max();
        let names: Vec<&str> = rows
            .iter()
            .filter(|row| best.is_some() && fit(row) == best)
            .flat_map(|(_, names)| names)
            .map(String::as_str)
            .collect();
        if names.is_empty() {
            self.faults.insert(format!("`{}` has no row", answer.line));
        }
        let mut object = object.clone();
        object.remove("schema");
        // An answer that went to another list names it.
        if !names.iter().any(|name| self.types[*name].pointer("/properties/list").is_some()) {
            object.remove("list");
        }
        self.object(&names, &object);
    }

    /// Holds an object against the types it may be of: those whose required keys it has.
    fn object(&mut self, names: &[&str], object: &Map<String, Value>) {
        let has_all = |name: &&&str| {
            let required = self.types[**name].get("required").and_then(Value::as_array);
            required.into_iter().flatten().filter_map(Value::as_str).all(|key| object.contains_key(key))
        };
        let has_only = |name: &&&str| {
            let schema = &self.types[**name];
            let keys = schema.get("properties").and_then(Value::as_object);
            schema.get("additionalProperties").is_some()
                || object.keys().all(|key| keys.is_some_and(|keys| keys.contains_key(key)))
        };
        let fitting: Vec<&&str> = names.iter().filter(has_all).filter(has_only).collect();
        if fitting.is_empty() && !names.is_empty() {
            let keys: Vec<&String> = object.keys().collect();
            self.faults.insert(format!("{}: the keys of an answer are {keys:?}", names.join(" or ")));
        }
        for name in fitting {
            for (key, value) in object {
                if let Some(schema) = self.types[*name].pointer(&format!("/properties/{key}")) {
                    self.answered.insert(format!("{name}.{key}"));
                    self.value(schema, value);
                }
            }
        }
    }

    fn value(&mut self, schema: &'a Value, value: &Value) {
        match (value, schema.get("items"), schema.get("additionalProperties")) {
            (Value::Array(elements), Some(items), _) => elements.iter().for_each(|element| self.value(items, element)),
            (Value::Object(object), _, Some(values @ Value::Object(_))) => {
                object.values().for_each(|value| self.value(values, value));
            }
            (Value::Object(object), ..) => {
                let mut names = Vec::new();
                self.names(schema, &mut names);
                self.object(&names, object);
            }
            _ => {}
        }
    }

    /// Adds the types that a schema refers to; of a type that is one of several, those.
    fn names(&self, schema: &'a Value, names: &mut Vec<&'a str>) {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let name = name.trim_start_matches("#/$defs/");
            match self.types[name].get("anyOf") {
                Some(_) => self.names(&self.types[name], names),
                None => names.push(name),
            }
        }
        let either = schema.get("anyOf").and_then(Value::as_array);
        either.into_iter().flatten().for_each(|one| self.names(one, names));
    }
}

/// Commands that answer with no object of ours: they fill the screen, speak another protocol, or only have commands below them.
const WITHOUT_ANSWER: [&str; 10] = ["board", "db", "hook", "job", "mcp", "task", "team", "template", "todo", "token"];

#[test]
fn every_command_has_a_row() {
    let reference = fs::read_to_string(root().join("docs/cli-reference.md")).unwrap();
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## taskyard "));
    let commands: Vec<&str> = commands.filter(|command| !WITHOUT_ANSWER.contains(command)).collect();
    assert!(commands.len() > 50, "only {commands:?} were found");
    let catalogue = Catalogue::new();
    let has_row = |command: &&&str| catalogue.rows.iter().any(|(row, _)| row.commands.contains(*command));
    let missing: Vec<_> = commands.iter().filter(|command| !has_row(command)).collect();
    assert!(missing.is_empty(), "the catalogue has no row for {missing:?}");
}

#[test]
fn keys_of_types_are_those_of_answers() {
    let catalogue = Catalogue::new();
    let answers = Answer::all();
    assert!(answers.len() > 250, "only {} answers were found", answers.len());
    let mut held = Held { types: &catalogue.types, answered: BTreeSet::new(), faults: BTreeSet::new() };
    answers.iter().for_each(|answer| held.answer(answer, &catalogue.rows));
    for (key, asserted, test) in SEEN_ELSEWHERE {
        let test = fs::read_to_string(root().join(test)).unwrap();
        assert!(test.contains(asserted), "no test sees {key}");
        held.answered.insert(key.to_owned());
    }
    for (one, other) in WITH_KEYS_OF {
        let seen = held.answered.iter().filter_map(|key| key.split_once('.'));
        let both: Vec<String> = seen
            .filter(|(name, _)| *name == one || *name == other)
            .flat_map(|(_, key)| [format!("{one}.{key}"), format!("{other}.{key}")])
            .collect();
        held.answered.extend(both);
    }
    let mut promised = BTreeSet::new();
    for (name, schema) in catalogue.types.iter().filter(|(name, _)| *name != "Error") {
        let keys = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        promised.extend(keys.map(|key| format!("{name}.{key}")));
    }
    let silent = promised.difference(&held.answered).map(|key| format!("{key}: no test has seen it answered"));
    let faults: Vec<String> = held.faults.iter().cloned().chain(silent).collect();
    assert!(faults.is_empty(), "the types of answers and the snapshots of commands\n{}", faults.join("\n"));
}
