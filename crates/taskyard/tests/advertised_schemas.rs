//! Every schema that is advertised is one that its own tool takes: inputs are made from the schema of every tool, in every set,
//! dialect and version, and none is refused as malformed.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard --test advertised_schemas`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::strategy::{Union, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use taskyard::calls::Toolbox;
use taskyard::core::rules::hooks::gate::System;
use taskyard::core::tools::catalogue::{self, Surface};
use taskyard::core::tools::{ToolSet, task_run};
use taskyard::core::{AgentName, ClientVersion, ListId, Rules};
use taskyard::store::{
    DocumentOptions, DocumentPaths, MemoryStore, TeachingOptions, TeachingPaths, open_documents, open_teaching,
};
use taskyard::teams::{FileTeamsOptions, TeamCaller, Teams};
use taskyard::{Store, Yard};
use taskyard_testkit::{Scale, folder_in_memory};

const SYSTEMS: [System; 5] = [System::Tasks, System::Todos, System::Document, System::Teaching, System::Export];
const RULES: [Rules; 3] =
    [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)];
const SETS: [ToolSet; 3] = [ToolSet::Core, ToolSet::Team, ToolSet::All];

/// Returns what a schema allows.
fn values(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(shapes) = schema.get("anyOf").and_then(Value::as_array) {
        return Union::new(shapes.iter().map(values)).boxed();
    }
    if let Some(word) = schema.get("const") {
        return Just(word.clone()).boxed();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return proptest::sample::select(words.clone()).boxed();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default();
            string_regex(&format!("[#*a-z0-9 \n\"é😀]{{{least},12}}")).unwrap().prop_map(Value::String).boxed()
        }
        Some("boolean") => any::<bool>().prop_map(Value::Bool).boxed(),
        Some("number") => {
            let bound = |name: &str| schema[name].as_f64().unwrap();
            (bound("minimum")..=bound("maximum")).prop_map(|number| json!(number)).boxed()
        }
        Some("array") => vec(values(&schema["items"]), 0..4).prop_map(Value::Array).boxed(),
        Some("object") => objects(schema),
        _ => panic!("nothing can be made from {schema}"),
    }
}

fn objects(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let fields: Vec<BoxedStrategy<Option<(String, Value)>>> = properties
        .iter()
        .map(|(key, schema)| {
            let is_required = required.contains(&key.as_str());
            let key = key.clone();
            let field = values(schema).prop_map(move |value| (key.clone(), value));
            match is_required {
                true => field.prop_map(Some).boxed(),
                false => proptest::option::of(field).boxed(),
            }
        })
        .collect();
    let others = match schema["additionalProperties"] {
        Value::Bool(false) => 0..1,
        _ => 0..3,
    };
    let other = ("[A-Z]{1,4}", proptest::sample::select(vec![json!(1), json!("x"), json!([true]), json!({"a": null})]));
    (fields, vec(other, others))
        .prop_map(|(fields, others)| Value::Object(fields.into_iter().flatten().chain(others).collect()))
        .boxed()
}

/// Returns an input with what the older client wants of a message of its type and says in its description alone. Its schema wants nothing but
/// the type.
fn filled(mut input: Value) -> Value {
    let needed: &[(&str, Value)] = match input["type"].as_str() {
        Some("message") => &[("recipient", json!("ben")), ("content", json!("x")), ("summary", json!("x"))],
        Some("broadcast") => &[("content", json!("x")), ("summary", json!("x"))],
        Some("shutdown_request") => &[("recipient", json!("ben"))],
        Some("shutdown_response") => &[("request_id", json!("x")), ("approve", json!(true))],
        Some("plan_approval_response") => {
            &[("request_id", json!("x")), ("recipient", json!("ben")), ("approve", json!(true))]
        }
        _ => &[],
    };
    for (key, value) in needed {
        if input.get(key).is_none() {
            input[*key] = value.clone();
        }
    }
    input
}

/// Returns the tools of an agent in a store of the system's own kind, in a folder of its own.
fn toolbox(folder: &Path, system: System, rules: Rules) -> Toolbox {
    let data = folder.join("data");
    let store: Arc<dyn Store> = match system {
        System::Document => {
            let paths = DocumentPaths::File(folder.join("tasks.json"));
            open_documents(DocumentOptions { paths, data: data.clone(), rules })
        }
        System::Teaching => {
            let paths = TeachingPaths::Folder(folder.join(".tasks"));
            open_teaching(TeachingOptions { paths, data: data.clone(), rules })
        }
        System::Tasks | System::Todos | System::Export => Arc::new(MemoryStore::new(rules)),
    };
    let teams = FileTeamsOptions { root: folder.join("teams"), tasks: folder.join("tasks"), data, rules };
    let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    Toolbox::new(yard.with_rules(rules).with_teams(Arc::new(Teams::new(teams, TeamCaller::default()))), system)
}

fn inputs_of_each() -> usize {
    Scale::from_environment(0.05).of(500)
}

#[test]
fn no_input_that_is_made_from_a_schema_is_refused_as_malformed() {
    let mut runner = TestRunner::deterministic();
    let mut called = BTreeSet::new();
    for (system, rules) in SYSTEMS.into_iter().flat_map(|system| RULES.map(|rules| (system, rules))) {
        let folder = folder_in_memory();
        let tools = toolbox(folder.path(), system, rules);
        let surface = Surface { system, rules, runs_commands: true };
        for (set, tool) in
            SETS.into_iter().flat_map(|set| catalogue::offered(set, surface).map(move |tool| (set, tool)))
        {
            let inputs = values(&tool.input_schema());
            for _ in 0..inputs_of_each() {
                let input = filled(inputs.new_tree(&mut runner).unwrap().current());
                let told = format!("{} of {set:?} in {system:?}, {rules:?}: {input}", tool.name);
                if tool.name == task_run::TOOL.name {
                    // A command is read and not run.
                    assert!(task_run::read(&input, rules).is_ok(), "{told}");
                    continue;
                }
                let answer = tools.call(tool.name, &input).unwrap();
                let is_malformed = answer.text.starts_with("InputValidationError");
                assert!(!is_malformed && !answer.text.contains("No such tool"), "{told}\n{}", answer.text);
            }
            called.insert((format!("{system:?}"), tool.name));
        }
    }
    assert!(called.len() >= 30, "{called:?}");
}

#[test]
fn messages_are_advertised_in_the_words_of_each_version() {
    let advertised = |rules| {
        let surface = Surface { system: System::Tasks, rules, runs_commands: false };
        catalogue::offered(ToolSet::Team, surface).find(|tool| tool.name == "SendMessage").unwrap()
    };
    let keys = |rules| -> Vec<String> {
        advertised(rules).input_schema()["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(RULES[0]), ["to", "message", "summary"]);
    assert_eq!(keys(RULES[1]), ["type", "recipient", "content", "summary", "request_id", "approve"]);
    assert_eq!(keys(RULES[2]), ["to", "message", "summary"]);
    // What each client says that has to be there.
    let required = |rules| advertised(rules).input_schema()["required"].clone();
    assert_eq!(RULES.map(required), [json!(["to", "message"]), json!(["type"]), json!(["to", "message"])]);
    // Only where all can be written to at once is that offered.
    assert_eq!(RULES.map(|rules| advertised(rules).description.contains('*')), [true, false, false]);
}
