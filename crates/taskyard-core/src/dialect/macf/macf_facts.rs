//! YAML facts in a description: parsing them, and changing one without touching any other byte.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use crate::json_text;

/// Maximum nesting depth.
const DEEPEST: usize = 64;
/// Maximum number of values. Only nested aliases produce more than this.
const MOST_VALUES: usize = 100_000;

/// One fact of a block: a top-level key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The key.
    pub key: String,
    /// The value. Numbers keep their spelling.
    pub value: Value,
    /// The byte range of the key.
    pub(super) key_at: Range<usize>,
    /// The byte range of the value, including its anchor (`&name`).
    pub(super) value_at: Range<usize>,
    /// The notation of the value.
    pub(super) form: Form,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Unquoted.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// On several lines, or as a list or object.
    Other,
}

/// Why a block cannot be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBlock {
    /// It is not valid YAML.
    #[error("line {line} is not YAML: {why}")]
    NotYaml {
        /// The line number within the block, from 1.
        line: usize,
        /// The parser's message.
        why: String,
    },
    /// It is YAML, but not a mapping.
    #[error("it is not a mapping of names to values")]
    NoFacts,
    /// It is larger or deeper than any real block.
    #[error("it is too large or too deeply nested")]
    TooLarge,
    /// The change would also alter something else.
    #[error("`{key}` cannot be changed without altering something else")]
    Entangled {
        /// The key of the fact.
        key: String,
    },
}

/// Parses the facts of a text, in order. If a key occurs twice, the last one counts.
pub(super) fn read(text: &str) -> Result<Vec<Fact>, BadBlock> {
    let bytes = ByteOffsets::of(text);
    let mut reading = Reading::default();
    let mut is_begun = false;
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| BadBlock::NotYaml { line: error.marker().line(), why: error.info().to_owned() })?;
        if matches!(event, Event::DocumentStart(_)) && std::mem::replace(&mut is_begun, true) {
            return Err(BadBlock::NoFacts);
        }
        reading.take(event, bytes.range(span.start.index(), span.end.index()), text)?;
    }
    Ok(reading.facts)
}

/// Returns whether the facts are in block style, one per line, rather than in braces.
pub(super) fn is_of_lines(text: &str) -> bool {
    !text.trim_start().starts_with(['{', '['])
}

/// The state of the parser.
#[derive(Debug, Default)]
struct Reading {
    facts: Vec<Fact>,
    /// The top-level key whose value comes next, and its range.
    key: Option<(String, Range<usize>)>,
    is_in_root: bool,
    /// The open lists and objects, innermost last.
    open: Vec<(Frame, usize)>,
    /// The range of the current top-level value as far as it has been parsed.
    value_at: Option<Range<usize>>,
    anchors: HashMap<usize, Value>,
    count: usize,
}

#[derive(Debug)]
enum Frame {
    List(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

impl Reading {
    fn take(&mut self, event: Event<'_>, at: Range<usize>, text: &str) -> Result<(), BadBlock> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
            Event::MappingStart(anchor, _) if !self.is_in_root => {
                self.is_in_root = anchor == 0;
                if self.is_in_root { Ok(()) } else { Err(BadBlock::NoFacts) }
            }
            // An empty document is an empty block.
            Event::Scalar(word, ScalarStyle::Plain, 0, None) if !self.is_in_root && word.is_empty() => Ok(()),
            _ if !self.is_in_root => Err(BadBlock::NoFacts),
            Event::MappingEnd if self.open.is_empty() => Ok(()),
            Event::Scalar(word, style, anchor, tag) => {
                if self.open.is_empty() && self.key.is_none() {
                    self.key = Some((word.into_owned(), at));
                    return Ok(());
                }
                let is_one_line = !text[at.clone()].contains(['\n', '\r']);
                let form = match style {
                    ScalarStyle::Plain if is_one_line => Form::Plain,
                    ScalarStyle::SingleQuoted if is_one_line => Form::Single,
                    ScalarStyle::DoubleQuoted if is_one_line => Form::Double,
                    _ => Form::Other,
                };
                let value = meaning(&word, style, tag.as_deref());
                self.reach(&at, text);
                self.finish(value, anchor, form)
            }
            Event::Alias(anchor) => {
                self.reach(&at, text);
                let value = self.anchors.get(&anchor).cloned().ok_or(BadBlock::NoFacts)?;
                self.finish(value, 0, Form::Other)
            }
            Event::SequenceStart(anchor, _) => self.begin(Frame::List(Vec::new()), anchor, &at, text),
            Event::MappingStart(anchor, _) => self.begin(Frame::Object(Map::new(), None), anchor, &at, text),
            Event::SequenceEnd | Event::MappingEnd => {
                // A block-style collection ends where the next item begins, so its end event has an empty range.
                if !at.is_empty() {
                    self.reach(&at, text);
                }
                let (value, anchor) = match self.open.pop() {
                    Some((Frame::List(list), anchor)) => (Value::Array(list), anchor),
                    Some((Frame::Object(object, _), anchor)) => (Value::Object(object), anchor),
                    None => return Err(BadBlock::NoFacts),
                };
                self.finish(value, anchor, Form::Other)
            }
        }
    }

    fn begin(&mut self, frame: Frame, anchor: usize, at: &Range<usize>, text: &str) -> Result<(), BadBlock> {
        if self.open.is_empty() && self.key.is_none() {
            return Err(BadBlock::NoFacts);
        }
        if self.open.len() == DEEPEST {
            return Err(BadBlock::TooLarge);
        }
        self.reach(at, text);
        self.open.push((frame, anchor));
        Ok(())
    }

    /// Extends the range of the current top-level value to include `at`, without trailing white space.
    fn reach(&mut self, at: &Range<usize>, text: &str) {
        let written = text[at.clone()].trim_end_matches([' ', '\t', '\n', '\r']).len();
        let end = at.start + written;
        let value_at = self.value_at.get_or_insert(at.start..end);
        value_at.end = value_at.end.max(end);
    }

    /// Adds a finished value to its parent.
    fn finish(&mut self, value: Value, anchor: usize, form: Form) -> Result<(), BadBlock> {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        self.count += size(&value);
        if self.count > MOST_VALUES {
            return Err(BadBlock::TooLarge);
        }
        match self.open.last_mut() {
            Some((Frame::List(list), _)) => list.push(value),
            Some((Frame::Object(_, key @ None), _)) => *key = Some(words(&value)),
            Some((Frame::Object(object, key), _)) => {
                drop(object.insert(key.take().unwrap_or_default(), value));
            }
            None => {
                let Some((key, key_at)) = self.key.take() else { return Err(BadBlock::NoFacts) };
                let value_at = self.value_at.take().unwrap_or(key_at.end..key_at.end);
                self.facts.push(Fact { key, value, key_at, value_at, form });
            }
        }
        Ok(())
    }
}

/// Converts a value to an object key.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Counts the values in a value, including itself.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the value of a scalar: null, a boolean or a number if it is plain and looks like one, otherwise text.
fn meaning(word: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if style != ScalarStyle::Plain || tag.is_some() {
        return Value::String(word.to_owned());
    }
    match word {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        word => match json_text::from_str(word) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => Value::String(word.to_owned()),
        },
    }
}

/// Byte offsets of characters. The parser counts characters.
struct ByteOffsets {
    /// `None` if the text is ASCII.
    offsets: Option<Vec<usize>>,
    length: usize,
}

impl ByteOffsets {
    fn of(text: &str) -> Self {
        let offsets = (!text.is_ascii()).then(|| text.char_indices().map(|(offset, _)| offset).collect());
        Self { offsets, length: text.len() }
    }

    fn range(&self, start: usize, end: usize) -> Range<usize> {
        let byte = |index: usize| match &self.offsets {
            Some(offsets) => offsets.get(index).copied().unwrap_or(self.length),
            None => index.min(self.length),
        };
        byte(start)..byte(end)
    }
}

/// Returns the text with one fact set. A new fact is appended.
pub(super) fn with_fact(text: &str, key: &str, value: &Value) -> Result<String, BadBlock> {
    let facts = read(text)?;
    let entangled = || BadBlock::Entangled { key: key.to_owned() };
    if !is_of_lines(text) {
        return Err(entangled());
    }
    let mut wanted = meanings(&facts);
    let Some(place) = facts.iter().rposition(|fact| fact.key == key) else {
        wanted.push((key.to_owned(), value.clone()));
        let written = appended(text, &format!("{}: {}", word(key), value_text(value, Form::Plain)));
        return means(&written, &wanted).then_some(written).ok_or_else(entangled);
    };
    wanted[place].1 = value.clone();
    let fact = &facts[place];
    if fact.value == *value {
        return Ok(text.to_owned());
    }
    let new = value_text(value, fact.form);
    let in_its_place =
        (fact.form != Form::Other && !fact.value_at.is_empty()).then(|| replaced(text, &fact.value_at, &new));
    let behind_its_key =
        colon(text, fact).map(|colon| replaced(text, &(colon..fact.value_at.end.max(colon)), &format!(" {new}")));
    let mut ways = in_its_place.into_iter().chain(behind_its_key);
    ways.find(|written| means(written, &wanted)).ok_or_else(entangled)
}

/// Returns the text without a fact. Only the lines of that fact are removed.
pub(super) fn without_fact(text: &str, key: &str) -> Result<String, BadBlock> {
    let facts = read(text)?;
    let entangled = || BadBlock::Entangled { key: key.to_owned() };
    let wanted: Vec<(String, Value)> = meanings(&facts).into_iter().filter(|(name, _)| name != key).collect();
    if wanted.len() == facts.len() {
        return Ok(text.to_owned());
    }
    let mut written = text.to_owned();
    for fact in facts.iter().rev().filter(|fact| fact.key == key) {
        let start = text[..fact.key_at.start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let after = fact.value_at.end.max(fact.key_at.end);
        let end = text[after..].find('\n').map_or(text.len(), |end| after + end + 1);
        written.replace_range(start..end, "");
    }
    (is_of_lines(text) && means(&written, &wanted)).then_some(written).ok_or_else(entangled)
}

/// Appends a line to a text, using the line ending of its other lines.
fn appended(text: &str, line: &str) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // The rest is the indentation of the end tag, if the tag is indented.
    let (lines, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let (lines, rest) = if rest.trim().is_empty() { (lines, rest) } else { (text, "") };
    let gap = if lines.is_empty() || lines.ends_with('\n') { "" } else { line_end };
    format!("{lines}{gap}{line}{line_end}{rest}")
}

/// Returns the position after the colon that follows a key, or `None` if there is no colon on its line.
fn colon(text: &str, fact: &Fact) -> Option<usize> {
    let rest = &text[fact.key_at.end..];
    let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[gap..].starts_with(':').then_some(fact.key_at.end + gap + 1)
}

fn replaced(text: &str, at: &Range<usize>, new: &str) -> String {
    let mut written = text.to_owned();
    written.replace_range(at.clone(), new);
    written
}

fn meanings(facts: &[Fact]) -> Vec<(String, Value)> {
    facts.iter().map(|fact| (fact.key.clone(), fact.value.clone())).collect()
}

/// Returns whether a text contains exactly these facts, in this order.
fn means(text: &str, wanted: &[(String, Value)]) -> bool {
    read(text).is_ok_and(|facts| meanings(&facts) == wanted)
}

/// Words that some parsers do not read as text, in any case.
const NO_TEXT: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"];

/// Formats a value on one line, with the quotes of the previous value or as needed.
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

/// Formats text with the simplest notation possible.
pub(super) fn word(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if can_be_single(text) {
        single(text)
    } else {
        double(text)
    }
}

/// Formats a value in flow style on one line, with strings in double quotes.
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

/// Returns whether every parser reads the unquoted text as text. Text that begins like a number or date is quoted.
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

/// Returns whether text can be written in single quotes on one line. Text that would end the block cannot.
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

/// Returns whether a character breaks a line or is not allowed in YAML.
fn needs_escape(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{with_fact, without_fact};
    use crate::dialect::macf::BadBlock;

    const TEXT: &str = "# how it came to be\ncreated_cycle: 42 # counted\nagent: 'PA'\nparent_id: '000'\nupdates:\n\
                        - breadcrumb: s_1\n  agent: SA\n  # within\n# between\nreport: |\n  agent: nobody\n\n  # no comment\n\
                        plan: >-\n  folded\n  text\nlinks: [hooks, agent]\nempty:\nlast: é\n";

    #[test]
    fn only_the_fact_changes() {
        for (key, value, from, to) in [
            ("created_cycle", json!(43), "42", "43"),
            ("agent", json!("SA"), "agent: 'PA'", "agent: 'SA'"),
            ("agent", json!("it's"), "agent: 'PA'", "agent: 'it''s'"),
            ("parent_id", json!("7"), "'000'", "'7'"),
            ("links", json!(["x"]), "[hooks, agent]", "[\"x\"]"),
            ("report", json!("done"), "|\n  agent: nobody\n\n  # no comment", "done"),
            ("updates", json!("none"), "updates:\n- breadcrumb: s_1\n  agent: SA", "updates: none"),
            ("plan", json!("a: b"), ">-\n  folded\n  text", "'a: b'"),
            ("empty", json!("1.0"), "empty:", "empty: '1.0'"),
            ("last", json!("e"), "é", "e"),
            ("new", json!(true), "last: é\n", "last: é\nnew: true\n"),
        ] {
            assert_eq!(with_fact(TEXT, key, &value).unwrap(), TEXT.replacen(from, to, 1), "{key}");
            let crossed = |text: &str| text.replace('\n', "\r\n");
            assert_eq!(with_fact(&crossed(TEXT), key, &value).unwrap(), crossed(&TEXT.replacen(from, to, 1)), "{key}");
        }
    }

    #[test]
    fn a_fact_goes_with_its_lines() {
        for (key, lines) in [
            ("created_cycle", "created_cycle: 42 # counted\n"),
            ("updates", "updates:\n- breadcrumb: s_1\n  agent: SA\n"),
            ("report", "report: |\n  agent: nobody\n\n  # no comment\n"),
            ("last", "last: é\n"),
        ] {
            assert_eq!(without_fact(TEXT, key).unwrap(), TEXT.replacen(lines, "", 1), "{key}");
        }
        assert_eq!(without_fact(TEXT, "other").unwrap(), TEXT);
        assert_eq!(without_fact("a: 1\nb: 2\na: 3\n", "a").unwrap(), "b: 2\n");
        assert_eq!(with_fact("a: 1\nb: 2\na: 3\n", "a", &json!(4)).unwrap(), "a: 1\nb: 2\na: 4\n");
    }

    #[test]
    fn what_others_hang_on_is_not_changed() {
        let text = "a: &x 1\nb: *x\n";
        let entangled = Err(BadBlock::Entangled { key: "a".to_owned() });
        assert_eq!(with_fact(text, "a", &json!(2)), entangled);
        assert_eq!(without_fact(text, "a"), entangled);
        assert_eq!(with_fact(text, "b", &json!(2)).unwrap(), "a: &x 1\nb: 2\n");
        assert_eq!(with_fact("{a: 1}\n", "a", &json!(2)), entangled);
    }

    #[test]
    fn what_is_no_yaml_is_not_changed() {
        let bad = with_fact("created_cycle: 7\ntitle: CLI: x\n", "created_cycle", &json!(8)).unwrap_err();
        assert!(matches!(bad, BadBlock::NotYaml { line: 2, .. }), "{bad}");
        assert_eq!(with_fact("just words\n", "a", &json!(1)), Err(BadBlock::NoFacts));
    }
}

#[cfg(test)]
mod value_text_tests {
    use serde_json::json;

    use super::Form;
    use super::{value_text, word};

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
