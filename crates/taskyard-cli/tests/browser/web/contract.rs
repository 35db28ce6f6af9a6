//! Holding answers against the document that describes them.

use serde_json::{Value, json};

use crate::web::served::Response;

/// What the API promises.
pub(crate) struct Contract {
    document: Value,
}

impl Contract {
    /// Takes the document.
    pub(crate) fn of(document: Value) -> Self {
        Self { document }
    }

    /// Returns the name of every operation.
    pub(crate) fn operations(&self) -> Vec<String> {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|path| path.as_object().unwrap().values());
        operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the operation that answers to a method and a path.
    pub(crate) fn operation(&self, method: &str, path: &str) -> &Value {
        let asked: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
        let is_meant = |template: &str| {
            let parts: Vec<&str> = template.split('/').collect();
            parts.len() == asked.len()
                && parts.iter().zip(&asked).all(|(part, asked)| part.starts_with('{') || part == asked)
        };
        let paths = self.document["paths"].as_object().unwrap();
        // A path without variable parts is meant before one with them.
        let mut meant: Vec<&String> = paths.keys().filter(|template| is_meant(template)).collect();
        meant.sort_by_key(|template| template.matches('{').count());
        let operation =
            meant.iter().map(|template| &paths[*template][method.to_ascii_lowercase()]).find(|one| one.is_object());
        operation.unwrap_or_else(|| panic!("{method} {path} is not described"))
    }

    /// Holds an answer against what is promised, and returns the name of the operation.
    pub(crate) fn hold(&self, method: &str, path: &str, response: &Response) -> String {
        let operation = self.operation(method, path);
        let promised = &operation["responses"][response.status.to_string()];
        assert!(promised.is_object(), "{method} {path}: {} is not described: {response:?}", response.status);
        let kind = response.header("content-type").unwrap().split(';').next().unwrap();
        let schema = &promised["content"][kind]["schema"];
        assert!(schema.is_object(), "{method} {path}: `{kind}` is not described");
        if kind == "application/json" {
            let mut schema = json!({"allOf": [schema]});
            schema["components"] = self.document["components"].clone();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            let answer = response.json();
            let wrong: Vec<String> =
                validator.iter_errors(&answer).map(|error| format!("{error} at {}", error.instance_path())).collect();
            assert!(wrong.is_empty(), "{method} {path}: {wrong:?}: {answer}");
        }
        operation["operationId"].as_str().unwrap().to_owned()
    }
}
