//! The OpenAPI document.

use axum::http::Method;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use schemars::transform::ReplaceBoolSchemas;
use serde_json::{Map, Value, json};
use taskyard::core::answers::answer_document::{Document, schema_settings, words_as_enum};
use taskyard::core::answers::maintenance_answers::ErrorAnswer;

use crate::web::api;
use crate::web::api::{AnswerForm, Operation, SchemaOf};

const ABOUT: &str = "Task lists for people, agents and programs. Answers have the shapes of `taskyard --json`; errors are `error` objects with \
                     `code`, `message` and `hint`. `Taskyard-Agent` names the acting agent; a request that is repeated with the same `Idempotency-Key` takes effect once.";

/// The description of an event stream.
const EVENTS: &str = "Server-sent events: `ready`, `resumed` or `reset` first, then `commit`, `job_ended`, `message`, `agent_came`, \
                      `agent_went`, `list_came` and `list_went`, each with JSON in its data";

/// Returns the schema of an operation's input, with all subschemas inlined.
pub(crate) fn schema_of_input(input: Option<SchemaOf>) -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    }));
    input.map_or(Value::Null, |schema| {
        let mut schema = schema(&mut generator);
        words_as_enum(&mut schema);
        schema.to_value()
    })
}

/// Returns the OpenAPI document; `public_url` is the server's address behind a proxy.
pub(crate) fn document(public_url: Option<&str>) -> Value {
    let mut schemas = Schemas {
        taken: generator(SchemaSettings::draft2020_12().with_transform(words_as_enum)),
        answered: generator(schema_settings()),
    };
    let error = schemas.answered.subschema_for::<Document<'_, ErrorAnswer<'_>>>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for operation in api::operations() {
        let path = format!("{}{}", api::ROOT, operation.path);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[operation.method.as_str().to_ascii_lowercase()] = described(&operation, &error, &mut schemas);
    }
    paths.insert(OPEN_PATH.to_owned(), json!({ "get": opening() }));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Taskyard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.into_definitions(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "`taskyard token create NAME --scope SCOPE`"},
            },
        },
    });
    if let Some(url) = public_url {
        document["servers"] = json!([{ "url": url }]);
    }
    document
}

/// The schemas of inputs and of answers. They are generated separately, because they treat optional keys differently.
struct Schemas {
    taken: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.answered.take_definitions(true);
        for (name, schema) in self.taken.take_definitions(true) {
            debug_assert!(definitions.get(&name).is_none_or(|other| *other == schema), "two schemas are called {name}");
            definitions.insert(name, schema);
        }
        definitions
    }
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    // A value of any type has the schema `true`, which some client generators do not support.
    let mut anything = ReplaceBoolSchemas::default();
    anything.skip_additional_properties = true;
    let settings = settings.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    SchemaGenerator::new(settings.with_transform(anything))
}

/// The path of single-use links, which is not part of the API.
const OPEN_PATH: &str = "/open/{code}";

/// Describes how a link opens the pages in a browser.
fn opening() -> Value {
    let text =
        |words: &str, kind: &str| json!({"description": words, "content": {kind: {"schema": {"type": "string"}}}});
    json!({
        "operationId": "openBrowser",
        "summary": "Sign in a browser with a single-use link of `makeLink` or of `taskyard serve`",
        "tags": ["links"],
        "security": [],
        "parameters": [path_parameter("code")],
        "responses": {
            "200": text("A page that redirects to the board", "text/html"),
            "403": text("The request comes from a page of another site", "text/plain"),
            "405": text("The path supports only GET", "application/json"),
            "410": text("The link was already used, or has expired", "text/html"),
            "421": text("The Host header does not name this server", "text/plain"),
            "429": text("Too many invalid links came from this address", "text/html"),
            "503": text("The browser cannot be signed in now", "text/html"),
        },
    })
}

fn described(operation: &Operation, error: &Value, schemas: &mut Schemas) -> Value {
    let mut parameters: Vec<Value> = parts_of(operation.path).map(path_parameter).collect();
    parameters.push(header("Taskyard-Agent", "The acting agent, if it is not the name of the token"));
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.path.split('/').rfind(|part| !part.is_empty() && !part.contains('{')).unwrap_or_default()],
        "x-scope": operation.scope.as_str(),
    });
    if operation.asks_by_query() {
        parameters.extend(query_parameters(&schema_of_input(operation.input)));
    } else {
        parameters.push(header("Idempotency-Key", "A request repeated with the same key takes effect once"));
        let schema =
            operation.input.map_or_else(|| json!({"type": "object"}), |schema| schema(&mut schemas.taken).to_value());
        let is_needed = schema_of_input(operation.input).get("required").is_some();
        described["requestBody"] = json!({"required": is_needed, "content": {"application/json": {"schema": schema}}});
    }
    if operation.takes_expectations() {
        parameters.push(header(
            "If-Match",
            "The ETag of the task as it was read: the change is made only if the task is unchanged",
        ));
    }
    if operation.id == "showTask" {
        parameters.push(header(
            "If-None-Match",
            "The ETag of an earlier answer: the answer is not sent again if it is the same",
        ));
    }
    if matches!(operation.answer, AnswerForm::Events) {
        parameters.push(header("Last-Event-ID", "The id of the last event received: later events are sent"));
    }
    described["parameters"] = Value::Array(parameters);
    described["responses"] = responses(operation, error, &mut schemas.answered);
    described
}

fn responses(operation: &Operation, error: &Value, generator: &mut SchemaGenerator) -> Value {
    let told =
        |words: &str, schema: Value| json!({"description": words, "content": {"application/json": {"schema": schema}}});
    let mut responses = Map::new();
    let success = operation.success.as_str().to_owned();
    let refused = match operation.refusal {
        Some(refusal) => json!({"anyOf": [refusal(generator).to_value(), error]}),
        None => error.clone(),
    };
    match operation.answer {
        AnswerForm::Json => {
            let mut schemas: Vec<Value> = operation.answers.iter().map(|schema| schema(generator).to_value()).collect();
            let schema = if schemas.len() == 1 { schemas.remove(0) } else { json!({ "anyOf": schemas }) };
            responses.insert(success.clone(), told("The result", schema));
        }
        AnswerForm::File(_, kind) => {
            let schema = json!({"type": "string"});
            responses
                .insert(success.clone(), json!({"description": "The file", "content": {kind: {"schema": schema}}}));
        }
        AnswerForm::Events => {
            let schema = json!({"type": "string", "description": EVENTS});
            let content = json!({"text/event-stream": {"schema": schema}});
            responses.insert(success.clone(), json!({"description": "Events as they happen", "content": content}));
        }
    }
    for (status, words) in [
        ("400", "The request cannot be understood"),
        ("401", "The token is missing or wrong"),
        ("403", "The token's scope does not allow this"),
        ("405", "The path does not support this method; `Allow` lists the methods it supports"),
        ("421", "The Host header does not name this server"),
        ("429", "Too many requests"),
        ("503", "It could not be done: the store is unreachable, a lock is held, or the server is overloaded"),
    ] {
        responses.insert(status.to_owned(), told(words, error.clone()));
    }
    if operation.method != Method::GET {
        let words = "The change is recorded but could not be finished; do not repeat the request";
        responses.insert("202".to_owned(), told(words, error.clone()));
    }
    let of_bodies = [
        ("408", "The body took too long to arrive"),
        ("413", "The body is too large"),
        ("415", "The body is not JSON"),
        ("422", "A different request already used this `Idempotency-Key`"),
    ];
    for (status, words) in of_bodies.into_iter().filter(|_| !operation.asks_by_query()) {
        responses.insert(status.to_owned(), told(words, error.clone()));
    }
    if operation.location.is_some() {
        let location = json!({"description": "The address of what was created", "schema": {"type": "string"}});
        responses[&success]["headers"] = json!({ "Location": location });
    }
    if operation.takes_expectations() {
        let words = "The task does not match `If-Match`: `current` is its state now, `base` the expected state";
        responses.insert("412".to_owned(), told(words, error.clone()));
    }
    if operation.id == "showTask" {
        responses.insert("304".to_owned(), json!({"description": "Unchanged since `If-None-Match`"}));
        let tag = json!({"description": "Identifies this state of the task", "schema": {"type": "string"}});
        responses[&success]["headers"] = json!({ "ETag": tag });
    }
    responses.insert("404".to_owned(), told("It does not exist", refused.clone()));
    responses.insert("409".to_owned(), told("A rule rejects it", refused));
    Value::Object(responses)
}

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let mut parameter =
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}});
    let examples = [("list", "rocket"), ("id", "1"), ("agent", "ana"), ("team", "alpha"), ("name", "ci")];
    if let Some((_, example)) = examples.into_iter().find(|(known, _)| *known == name) {
        parameter["example"] = example.into();
    }
    parameter
}

fn header(name: &str, words: &str) -> Value {
    json!({"name": name, "in": "header", "required": false, "description": words, "schema": {"type": "string"}})
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|known| known == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let words = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter =
            json!({"name": name, "in": "query", "required": required(name), "schema": without_null(schema)});
        if let Some(words) = words {
            parameter["description"] = words;
        }
        parameter
    };
    properties.into_iter().flatten().map(parameter).collect()
}

/// A query has no null, so optional parameters are simply absent.
fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get("type").cloned() {
        let types: Vec<Value> = types.into_iter().filter(|one| one != "null").collect();
        if let [only] = &types[..] {
            schema["type"] = only.clone();
        }
    }
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
    }
    schema
}

/// Returns the method, path and scope of all operations, for tests of completeness.
#[cfg(test)]
fn routes() -> Vec<(axum::http::Method, String, crate::tokens::Scope)> {
    let of = |operation: Operation| (operation.method, format!("{}{}", api::ROOT, operation.path), operation.scope);
    api::operations().into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use axum::http::Method;
    use serde_json::Value;

    use super::{document, routes};
    use crate::tokens::Scope;

    #[test]
    fn every_operation_is_described_once_under_its_own_name() {
        let document = document(None);
        let mut names = HashSet::new();
        let routes = routes();
        for (method, path, _) in &routes {
            let described = &document["paths"][path][method.as_str().to_ascii_lowercase()];
            assert!(described.is_object(), "{method} {path}");
            assert!(names.insert(described["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
        }
        let count: usize =
            document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(count, routes.len() + 1, "one path is no operation of the API");
    }

    #[test]
    fn read_only_token_changes_nothing_and_suffices_to_look() {
        for (method, path, scope) in routes() {
            // Any browser may log itself out.
            assert!(method == Method::GET || scope > Scope::Read || path.ends_with("/logout"), "{method} {path}");
        }
    }

    #[test]
    fn words_are_enums_for_every_generator() {
        let document = document(None);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Status"]["enum"], serde_json::json!(["pending", "in_progress", "completed"]));
        let text = document.to_string();
        assert!(!text.contains("\"oneOf\"") && !text.contains("\"const\""), "{text}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    object.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document(None);
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
        }
    }
}
