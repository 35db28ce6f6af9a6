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

/// Returns a value as text.
pub(super) fn written(value: &Value, form: Form<'_>) -> String {
    let mut text = String::new();
    write(&mut text, value, form);
    text
}

/// Returns a member as text.
pub(super) fn written_member(name: &str, value: &Value, form: Form<'_>) -> String {
    let colon = if matches!(form, Form::Tight) { ":" } else { ": " };
    format!("{}{colon}{}", Value::from(name), written(value, form))
}

fn write(text: &mut String, value: &Value, form: Form<'_>) {
    let (open, close, count) = match value {
        Value::Object(members) => ('{', '}', members.len()),
        Value::Array(items) => ('[', ']', items.len()),
        scalar => return text.push_str(&scalar.to_string()),
    };
    let is_plain = |value: &Value| !value.is_object() && !value.is_array();
    let form = match form {
        // A list of words is easier to read on one line.
        Form::Lines { .. } if value.as_array().is_some_and(|items| items.iter().all(is_plain)) => Form::Line,
        form => form,
    };
    let inner_indent = match form {
        Form::Lines { step, indent, .. } => format!("{indent}{step}"),
        Form::Line | Form::Tight => String::new(),
    };
    let inner = match form {
        Form::Lines { end, step, .. } => Form::Lines { end, step, indent: &inner_indent },
        form => form,
    };
    text.push(open);
    let members = value.as_object().into_iter().flatten().map(|(name, value)| (Some(name), value));
    let items = value.as_array().into_iter().flatten().map(|value| (None, value));
    for (number, (name, value)) in members.chain(items).enumerate() {
        match form {
            Form::Lines { end, .. } => {
                text.push_str(if number > 0 { "," } else { "" });
                text.push_str(end);
                text.push_str(&inner_indent);
            }
            Form::Line => text.push_str(if number > 0 { ", " } else { "" }),
            Form::Tight => text.push_str(if number > 0 { "," } else { "" }),
        }
        match name {
            Some(name) => text.push_str(&written_member(name, value, inner)),
            None => write(text, value, inner),
        }
    }
    if let (Form::Lines { end, indent, .. }, 1..) = (form, count) {
        text.push_str(end);
        text.push_str(indent);
    }
    text.push(close);
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
