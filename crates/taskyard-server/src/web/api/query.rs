//! Converting a query or body into the input of an operation.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use taskyard::core::problem::Problem;

/// Deserializes the input of an operation.
pub(crate) fn read<T: DeserializeOwned>(input: Value) -> Result<T, Problem> {
    serde_json::from_value(input).map_err(|error| {
        Problem::usage("bad_input", format!("the request cannot be understood: {error}"))
            .hint("/api/v1/openapi.json describes the parameters of every operation")
    })
}

/// Converts a query string into a JSON object. The input's schema determines which parameters are numbers, booleans
/// or repeatable.
pub(crate) fn as_object(query: &str, schema: &Value) -> Result<Value, Problem> {
    let mut object = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let kind = kind_of(schema.pointer(&format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"))));
        if kind == Kind::Several {
            let several = object.entry(name.into_owned()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(several) = several {
                several.push(Value::String(text.into_owned()));
            }
            continue;
        }
        let value = value_of(kind, &name, &text)?;
        if object.insert(name.clone().into_owned(), value).is_some() {
            return Err(Problem::usage("bad_input", format!("`{}` is given twice", name.escape_debug())));
        }
    }
    Ok(Value::Object(object))
}

/// The type of a query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    YesOrNo,
    Several,
}

fn kind_of(schema: Option<&Value>) -> Kind {
    let types = schema.and_then(|schema| schema.get("type"));
    let is = |word: &str| match types {
        Some(Value::String(one)) => one == word,
        Some(Value::Array(several)) => several.iter().any(|one| one == word),
        _ => false,
    };
    match () {
        () if is("array") => Kind::Several,
        () if is("boolean") => Kind::YesOrNo,
        () if is("integer") || is("number") => Kind::Number,
        () => Kind::Text,
    }
}

fn value_of(kind: Kind, name: &str, text: &str) -> Result<Value, Problem> {
    let wrong = |what: &str| {
        let (name, text) = (name.escape_debug(), text.escape_debug());
        Problem::usage("bad_input", format!("`{name}` is `{text}`, but must be {what}"))
    };
    match kind {
        Kind::Text | Kind::Several => Ok(Value::String(text.to_owned())),
        Kind::Number => text.parse::<u64>().map(Value::from).map_err(|_| wrong("a number")),
        Kind::YesOrNo => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::as_object;

    fn schema() -> Value {
        json!({"properties": {
            "words": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "all": {"type": "boolean"},
            "status": {"type": "array", "items": {"type": "string"}},
        }})
    }

    #[test]
    fn the_schema_says_what_a_parameter_is() {
        let read = as_object("words=a+b%26c&limit=3&all=true&status=pending&status=blocked", &schema()).unwrap();
        assert_eq!(read, json!({"words": "a b&c", "limit": 3, "all": true, "status": ["pending", "blocked"]}));
        assert_eq!(as_object("", &schema()).unwrap(), json!({}));
    }

    #[test]
    fn what_is_no_number_no_yes_or_given_twice_is_refused() {
        for query in ["limit=many", "limit=-1", "all=yes", "words=a&words=b", "limit="] {
            assert!(as_object(query, &schema()).is_err(), "{query}");
        }
    }
}
