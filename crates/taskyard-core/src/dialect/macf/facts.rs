//! What a block says: YAML, read by a parser that tells where everything stands.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use crate::json_text;

/// No program writes lists in lists in lists deeper than this.
const DEEPEST: usize = 64;
/// More values than this come only from aliases of aliases.
const MOST_VALUES: usize = 100_000;

/// One fact of a block: a key at its margin, and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name.
    pub key: String,
    /// What it says, numbers as they are written.
    pub value: Value,
    /// Where the key stands in the text.
    pub(super) key_at: Range<usize>,
    /// Where the value stands, from what ties it to others (`&name`) to its last character.
    pub(super) value_at: Range<usize>,
    /// How the value is written.
    pub(super) form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Plain,
    /// Between single quotes.
    Single,
    /// Between double quotes.
    Double,
    /// On lines below its key, or as a list or an object.
    Other,
}

/// Why a block is not read, or not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBlock {
    /// It is no YAML.
    #[error("line {line} is no YAML: {why}")]
    NotYaml {
        /// Which of its lines, counted from one.
        line: usize,
        /// What the parser says.
        why: String,
    },
    /// It is YAML, and something else than names with values.
    #[error("it holds something else than names with values")]
    NoFacts,
    /// It holds more than a program writes.
    #[error("it holds more than can be read")]
    TooLarge,
    /// What would be written does not mean what it should.
    #[error("`{key}` cannot be changed without changing something else")]
    Entangled {
        /// The name of the fact.
        key: String,
    },
}

/// Reads the facts of a text, in its order. One name may stand there twice; then the last one counts.
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

/// Tells whether the facts of a text stand below each other, and not in braces.
pub(super) fn is_of_lines(text: &str) -> bool {
    !text.trim_start().starts_with(['{', '['])
}

/// What was read so far.
#[derive(Debug, Default)]
struct Reading {
    facts: Vec<Fact>,
    /// The name at the margin whose value comes next, and where it stands.
    key: Option<(String, Range<usize>)>,
    is_in_root: bool,
    /// The lists and objects that are not at their ends, the innermost last.
    open: Vec<(Frame, usize)>,
    /// Where the value at the margin begins, and where what was read of it ends.
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
            // A document of nothing is a block of nothing.
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
                // The end of what stands on lines is where the next thing begins.
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

    /// Notes that the value at the margin reaches at least this far.
    fn reach(&mut self, at: &Range<usize>, text: &str) {
        let written = text[at.clone()].trim_end_matches([' ', '\t', '\n', '\r']).len();
        let end = at.start + written;
        let value_at = self.value_at.get_or_insert(at.start..end);
        value_at.end = value_at.end.max(end);
    }

    /// Puts a value where it belongs.
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

/// Returns a value as a name in an object.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Counts the values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Returns what a word means: a number where it is written as one, text where it is quoted or anything else.
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

/// Where each character of a text begins: the parser counts characters.
struct ByteOffsets {
    /// None where every character is one byte.
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
