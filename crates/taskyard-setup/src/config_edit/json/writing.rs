//! Writing a value down.

use serde_json::Value;

/// How a value is written.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    /// Over several lines: the line end, one step of indentation, and the indentation of the line it begins on.
    Lines { end: &'a str, step: &'a str, indent: &'a str },
    /// On one line, with a space after commas and colons.
    Line,
    /// On one line, with nothing between.
    Tight,
}

/// Returns a member as text.
pub(super) fn written_member(name: &str, value: &Value, form: Form<'_>) -> String {
    let colon = if matches!(form, Form::Tight) { ":" } else { ": " };
    format!("{}{colon}{}", Value::from(name), written(value, form))
}

/// Returns a value as text.
pub(super) fn written(value: &Value, form: Form<'_>) -> String {
    let is_plain = |value: &Value| !value.is_object() && !value.is_array();
    let form = match form {
        // A list of words is easier to read on one line.
        Form::Lines { .. } if value.as_array().is_some_and(|items| items.iter().all(is_plain)) => Form::Line,
        form => form,
    };
    let deeper = if let Form::Lines { step, indent, .. } = form { format!("{indent}{step}") } else { String::new() };
    let (inner, before, between, after) = match form {
        Form::Lines { end, step, indent } => {
            let line = format!("{end}{deeper}");
            (Form::Lines { end, step, indent: &deeper }, line.clone(), format!(",{line}"), format!("{end}{indent}"))
        }
        Form::Line => (form, String::new(), ", ".to_owned(), String::new()),
        Form::Tight => (form, String::new(), ",".to_owned(), String::new()),
    };
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Object(members) => {
            ('{', '}', members.iter().map(|(name, value)| written_member(name, value, inner)).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|value| written(value, inner)).collect()),
        scalar => return scalar.to_string(),
    };
    if items.is_empty() {
        return format!("{open}{close}");
    }
    format!("{open}{before}{}{after}{close}", items.join(&between))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Form, written};

    #[test]
    fn a_value_is_written_in_each_form() {
        let value = json!({"a": ["x", "y"], "b": [{"c": 1}], "d": {}, "e": "\"\n"});
        let lines = Form::Lines { end: "\n", step: "  ", indent: "\t" };
        assert_eq!(
            written(&value, lines),
            "{\n\t  \"a\": [\"x\", \"y\"],\n\t  \"b\": [\n\t    {\n\t      \"c\": 1\n\t    }\n\t  ],\n\t  \"d\": {},\n\t  \"e\": \"\\\"\\n\"\n\t}"
        );
        assert_eq!(written(&value, Form::Line), r#"{"a": ["x", "y"], "b": [{"c": 1}], "d": {}, "e": "\"\n"}"#);
        assert_eq!(written(&value, Form::Tight), r#"{"a":["x","y"],"b":[{"c":1}],"d":{},"e":"\"\n"}"#);
    }
}
