//! How a value is written as YAML, so that every parser of it, old or new, reads the same value.

use serde_json::Value;

use super::facts::Form;

/// Words that some parser takes for something else than text, in any case.
const NO_TEXT: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"];

/// Returns a value on one line, quoted as the one before it was, or where it needs quotes.
pub(super) fn value_text(value: &Value, before: Form) -> String {
    match value {
        Value::String(text) => match before {
            Form::Single if can_be_single(text) => single(text),
            Form::Double => double(text),
            _ => word(text),
        },
        other => flow(other),
    }
}

/// Returns text in the plainest way it can be written.
pub(super) fn word(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if can_be_single(text) {
        single(text)
    } else {
        double(text)
    }
}

/// Writes lists and objects on one line, their texts in double quotes.
fn flow(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => double(text),
        Value::Array(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| format!("{}: {}", double(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Tells whether text without quotes is text to every parser. Whatever begins like a number or a date is not.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars().peekable();
    let Some(first) = characters.next() else { return false };
    if !(first.is_alphabetic() || "_/".contains(first)) || text.ends_with([' ', ':']) {
        return false;
    }
    let mut before = first;
    for character in characters {
        let is_fine = match character {
            ' ' => before != ' ' && before != ':',
            ':' => before != ' ',
            '_' | '.' | '/' | '+' | '@' | '-' | '=' | '(' | ')' | '~' | ';' => true,
            other => other.is_alphanumeric(),
        };
        if !is_fine {
            return false;
        }
        before = character;
    }
    !NO_TEXT.contains(&text.to_ascii_lowercase().as_str())
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Tells whether text can stand between single quotes on one line. What ends a block does not.
fn can_be_single(text: &str) -> bool {
    !text.contains("</") && text.chars().all(|character| !needs_escape(character))
}

fn double(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '<' if rest.peek() == Some(&'/') => quoted.push_str("\\u003c"),
            other if needs_escape(other) && u32::from(other) > 0xffff => {
                quoted.push_str(&format!("\\U{:08x}", u32::from(other)));
            }
            other if needs_escape(other) => quoted.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Tells whether a character breaks a line, or is none that YAML allows.
fn needs_escape(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{value_text, word};
    use crate::dialect::macf::facts::Form;

    #[test]
    fn only_what_is_text_to_every_parser_stands_without_quotes() {
        for text in ["PA", "s_1/c_2/g_3/p_none/t_100", "SA:DevOpsEng", "two words", "docs/a-b.md", "é", "_x"] {
            assert_eq!(word(text), text);
        }
        for (text, written) in [
            ("", "''"),
            ("1.0", "'1.0'"),
            ("007", "'007'"),
            ("2026-11-16", "'2026-11-16'"),
            ("No", "'No'"),
            ("~", "'~'"),
            ("a: b", "'a: b'"),
            ("a #b", "'a #b'"),
            ("it's", "'it''s'"),
            ("- x", "'- x'"),
            ("x ", "'x '"),
            ("a\nb", "\"a\\nb\""),
            ("</macf_task_metadata>", "\"\\u003c/macf_task_metadata>\""),
            ("\u{7f}\u{2028}", "\"\\u007f\\u2028\""),
        ] {
            assert_eq!(word(text), written);
        }
    }

    #[test]
    fn a_value_is_quoted_as_the_one_before_it() {
        assert_eq!(value_text(&json!("x"), Form::Double), "\"x\"");
        assert_eq!(value_text(&json!("x"), Form::Single), "'x'");
        assert_eq!(value_text(&json!("a\nb"), Form::Single), "\"a\\nb\"");
        assert_eq!(value_text(&json!(43), Form::Single), "43");
        assert_eq!(value_text(&json!({"a": [1, null, "b"]}), Form::Plain), "{\"a\": [1, null, \"b\"]}");
    }
}
