//! Entries in JSON files, with or without comments and trailing commas.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};

use crate::config_edit::config_entry::{begins_line, indentation, line_end, line_of};
use crate::config_edit::{Added, Additions, Entry, Unfit, What};

/// The byte order mark that some editors put at the beginning of a file.
const MARK: char = '\u{feff}';

/// A JSON file that could be read.
pub(crate) struct Document<'a> {
    /// The text without its byte order mark.
    pub(crate) text: &'a str,
    /// The length of that mark.
    pub(crate) mark: usize,
    /// The file's value; `None` for an empty file.
    pub(crate) root: Option<Node<'a>>,
    /// All tokens, comments included, in order.
    pub(crate) tokens: Vec<TokenAndRange<'a>>,
}

/// Returns the value of a JSON file; null for an empty one. Of several members with the same name the last one counts,
/// as in other programs.
pub fn read(text: &str) -> Result<Value, Unfit> {
    Ok(Document::parse(text)?.root.map_or(Value::Null, Value::from))
}

impl<'a> Document<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unfit> {
        let body = text.strip_prefix(MARK).unwrap_or(text);
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(body, &collect, &options).map_err(|error| Unfit::Unreadable {
            line: line_of(body, error.range().start),
            why: in_lower_case(&error.kind().to_string()),
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        Ok(Self { text: body, mark: text.len() - body.len(), root: parsed.value, tokens })
    }

    /// Returns the value of the file; an empty object for an empty file.
    pub(crate) fn meaning(&self) -> Value {
        self.root.clone().map_or_else(|| Value::Object(Map::new()), Value::from)
    }

    /// Returns the error for a wrong type.
    pub(crate) fn wrong(&self, node: &Node<'_>, key: &[String], expected: &'static str) -> Unfit {
        Unfit::Shape { line: line_of(self.text, node.start()), key: key.join("."), expected }
    }

    /// Returns the error for something that cannot be edited.
    pub(crate) fn odd(&self, key: &[String]) -> Unfit {
        let line = self.root.as_ref().map_or(1, |root| line_of(self.text, root.start()));
        Unfit::Odd { line, key: key.join(".") }
    }
}

/// Returns the effective member of an object: the last one with the name.
pub(crate) fn member<'n, 'a>(object: &'n Object<'a>, name: &str) -> Option<(usize, &'n Node<'a>)> {
    let place = object.properties.iter().rposition(|property| property.name.as_str() == name)?;
    Some((place, &object.properties[place].value))
}

fn in_lower_case(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The layout of an object or array.
pub(crate) struct Container {
    /// The position of its opening brace or bracket.
    pub(crate) open: usize,
    /// The position of its closing brace or bracket.
    pub(crate) close: usize,
    /// The range of each item, without commas.
    pub(crate) items: Vec<Range<usize>>,
}

/// The text between an item and the next one or the end.
pub(crate) struct After {
    /// The position of the comma.
    pub(crate) comma: Option<usize>,
    /// The end of the item's text on its line, after the comma and comments on the same line.
    pub(crate) line: usize,
    /// The end of the last comment, or of the item or its comma if there is none.
    pub(crate) last_comment: usize,
}

impl Container {
    /// Returns the object or array, or `None` for another value.
    pub(crate) fn of(node: &Node<'_>) -> Option<Self> {
        let items = match node {
            Node::Object(object) => object.properties.iter().map(|property| property.start()..property.end()).collect(),
            Node::Array(array) => array.elements.iter().map(|element| element.start()..element.end()).collect(),
            _ => return None,
        };
        Some(Self { open: node.start(), close: node.end() - 1, items })
    }

    /// Examines the text after a position, up to the next item or the end of the container.
    pub(crate) fn after(&self, document: &Document<'_>, place: usize) -> After {
        let limit = self.items.iter().map(|item| item.start).find(|start| *start >= place).unwrap_or(self.close);
        let first = document.tokens.partition_point(|token| token.start() < place);
        let mut found = After { comma: None, line: place, last_comment: place };
        // A comma may stand on a line of its own; what belongs to the item goes on there.
        let mut line_from = place;
        for token in document.tokens[first..].iter().take_while(|token| token.start() < limit) {
            let end = token.end();
            if token.token == Token::Comma {
                found = After { comma: Some(token.start()), line: end, last_comment: end };
                line_from = end;
                continue;
            }
            found.last_comment = end;
            if !document.text[line_from..end].contains('\n') {
                found.line = end;
            }
        }
        found
    }
}

/// The indentation used if the file does not show its own.
const STEP: &str = "  ";

/// Adds our entry to a JSON file in the file's own style. Missing objects and arrays on the path to it are created.
/// Existing content is not changed.
pub fn add(text: &str, entry: &Entry) -> Result<Added, Unfit> {
    let document = Document::parse(text)?;
    let before = document.meaning();
    if let Some(root) = document.root.as_ref().filter(|root| root.as_object().is_none()) {
        return Err(document.wrong(root, &[], "object"));
    }
    if place_of(&before, entry).is_some() {
        let value = entry.path.iter().try_fold(&before, |value, name| value.get(name));
        let same = !entry.is_member() || value == Some(&entry.value());
        return Ok(if same { Added::AlreadyThere } else { Added::ThereOtherwise });
    }
    let (insertions, existing) = match &document.root {
        Some(root) => below(&document, root, entry)?,
        None => (vec![(document.text.len(), whole(document.text, entry))], 0),
    };
    let (longer, additions) = Additions::insert(document.text, &insertions);
    let longer = format!("{}{longer}", &text[..document.mark]);
    if read(&longer).ok() != Some(with(before, entry)) {
        return Err(document.odd(&entry.path));
    }
    Ok(Added::Now { text: longer, additions: additions.shifted(document.mark), existing })
}

/// Finds the first missing element on the path to the entry, and adds everything from there on.
fn below(document: &Document<'_>, root: &Node<'_>, entry: &Entry) -> Result<(Vec<(usize, String)>, usize), Unfit> {
    let mut node = root;
    for (depth, name) in entry.path.iter().enumerate() {
        let Some(object) = node.as_object() else {
            return Err(document.wrong(node, &entry.path[..depth], "object"));
        };
        let Some((_, found)) = member(object, name) else {
            return Ok((append(document, root, node, Some(name), &rest(entry, depth)), depth));
        };
        node = found;
    }
    if node.as_array().is_none() {
        return Err(document.wrong(node, &entry.path, "array"));
    }
    Ok((append(document, root, node, None, &entry.value()), entry.path.len()))
}

/// Returns the value of the member at a depth of the path, with everything below it down to the entry.
fn rest(entry: &Entry, depth: usize) -> Value {
    let value = entry.value();
    let innermost = if entry.is_member() { value } else { json!([value]) };
    entry.path[depth + 1..].iter().rev().fold(innermost, |value, name| json!({ name: value }))
}

/// Returns the text of a file that contains only this entry, after any comments of an otherwise empty file.
fn whole(text: &str, entry: &Entry) -> String {
    let end = line_end(text);
    let first = entry.path.first().cloned().unwrap_or_default();
    let form = Form::Lines { end, step: STEP, indent: "" };
    let new_line = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    format!("{new_line}{}{end}", written(&json!({ first: rest(entry, 0) }), form))
}

/// Returns the insertion that adds an item to a container.
fn append(
    document: &Document<'_>,
    root: &Node<'_>,
    node: &Node<'_>,
    name: Option<&str>,
    value: &Value,
) -> Vec<(usize, String)> {
    let text = document.text;
    let Some(container) = Container::of(node) else { return Vec::new() };
    let inside = &text[container.open..container.close];
    let (end, step) = (line_end(text), step_of(text, root));
    let item = |form: Form<'_>| match name {
        Some(name) => written_member(name, value, form),
        None => written(value, form),
    };
    let whole = &text[root.start()..root.end()];
    let on_one_line = if whole.contains(": ") || whole.contains(", ") { Form::Line } else { Form::Tight };
    let Some(last) = container.items.last() else {
        let after = container.after(document, container.open + 1);
        // In a file that is one long line, everything is on that line.
        if !whole.contains('\n') && root.start() != container.open {
            return vec![(after.last_comment, item(on_one_line))];
        }
        let outer = indentation(text, container.open);
        let indent = format!("{outer}{step}");
        let close_has_line = text[after.last_comment..container.close].contains('\n');
        let closing = if close_has_line { String::new() } else { format!("{end}{outer}") };
        let new = item(Form::Lines { end, step: &step, indent: &indent });
        return vec![(after.last_comment, format!("{end}{indent}{new}{closing}"))];
    };
    let after = container.after(document, last.end);
    let comma = if after.comma.is_some() { "," } else { "" };
    let mut insertions = Vec::new();
    if inside.contains('\n') && begins_line(text, last.start) {
        let indent = indentation(text, last.start);
        let new = item(Form::Lines { end, step: &step, indent });
        if after.comma.is_none() {
            insertions.push((last.end, ",".to_owned()));
        }
        insertions.push((after.line, format!("{end}{indent}{new}{comma}")));
    } else {
        let space = if matches!(on_one_line, Form::Tight) { "" } else { " " };
        let before = if after.comma.is_some() { "" } else { "," };
        let at = after.comma.map_or(last.end, |comma| comma + 1);
        insertions.push((at, format!("{before}{space}{}{comma}", item(on_one_line))));
    }
    insertions
}

/// Returns one step of the file's indentation: that of the first member of its outermost object.
fn step_of(text: &str, root: &Node<'_>) -> String {
    let first = Container::of(root).and_then(|container| container.items.first().map(|item| item.start));
    let outer = indentation(text, root.start());
    first
        .filter(|first| begins_line(text, *first))
        .and_then(|first| indentation(text, first).strip_prefix(outer))
        .filter(|step| !step.is_empty())
        .unwrap_or(STEP)
        .to_owned()
}

/// Removes our entry from a JSON file, or returns `None` if it does not exist or is a setting that has a different
/// value now. Returns the remaining text and the removed parts.
///
/// The given number of elements of the path always stay; empty ones below them are removed too.
pub fn remove(text: &str, entry: &Entry, keep: usize) -> Result<Option<(String, Additions)>, Unfit> {
    let document = Document::parse(text)?;
    let meaning = document.meaning();
    let Some(mut place) = place_of(&meaning, entry) else { return Ok(None) };
    if let What::Setting(ours) = &entry.what
        && entry.path.iter().try_fold(&meaning, |value, name| value.get(name)) != Some(ours)
    {
        return Ok(None);
    }
    while place.len() > keep + 1 && is_alone(&meaning, &place) {
        place.pop();
    }
    let Some(root) = &document.root else { return Ok(None) };
    let Some((container, number)) = find(root, &place) else { return Ok(None) };
    let expected = without(meaning, &place);
    for ranges in [with_space(&container, &document, number), bare(&container, &document, number)] {
        let additions = Additions::new(ranges).shifted(document.mark);
        if let Some(shorter) = additions.take_out(text)
            && read(&shorter).is_ok_and(|found| found == expected)
        {
            return Ok(Some((shorter, additions)));
        }
    }
    Err(document.odd(&entry.path))
}

/// Returns whether the item at a position is the only one in its container. A group of hooks with only our command is
/// removed as a whole, with its matcher.
fn is_alone(root: &Value, place: &[Step]) -> bool {
    let Some((last, before)) = place.split_last() else { return false };
    let around = before.iter().try_fold(root, |value, step| match step {
        Step::Name(name) => value.get(name),
        Step::Number(number) => value.get(number),
    });
    match around {
        Some(Value::Object(members)) => {
            let is_group =
                matches!((last, before.last()), (Step::Name(name), Some(Step::Number(_))) if name == "hooks");
            members.len() == 1 || is_group
        }
        Some(Value::Array(items)) => items.len() == 1,
        _ => false,
    }
}

/// Finds the container of the item at a position, and the item's index in it.
fn find(root: &Node<'_>, place: &[Step]) -> Option<(Container, usize)> {
    let (last, before) = place.split_last()?;
    let enter = |node, step: &Step| -> Option<(usize, _)> {
        let node: &Node<'_> = node;
        match step {
            Step::Name(name) => member(node.as_object()?, name),
            Step::Number(number) => Some((*number, node.as_array()?.elements.get(*number)?)),
        }
    };
    let mut node = root;
    for step in before {
        node = enter(node, step)?.1;
    }
    Some((Container::of(node)?, enter(node, last)?.0))
}

/// Returns the range to remove so that an item and its line disappear.
fn with_space(container: &Container, document: &Document<'_>, number: usize) -> Vec<Range<usize>> {
    let text = document.text;
    let item = &container.items[number];
    let blank = |part: &str| part.chars().all(|character| character.is_ascii_whitespace());
    let own_comma = container.after(document, item.end).comma;
    let end = own_comma.map_or(item.end, |comma| comma + 1);
    // Where it is all there is, nothing but the two braces stays.
    if container.items.len() == 1 && blank(&text[container.open + 1..item.start]) && blank(&text[end..container.close])
    {
        return std::iter::once(container.open + 1..container.close).collect();
    }
    let start = text[..item.start].trim_end_matches([' ', '\t', '\r', '\n']).len();
    let comma = comma_to_drop(container, document, number);
    std::iter::once(start..item.end).chain(comma.map(|comma| comma..comma + 1)).collect()
}

/// Returns the range to remove so that only the item disappears.
fn bare(container: &Container, document: &Document<'_>, number: usize) -> Vec<Range<usize>> {
    let item = container.items[number].clone();
    let comma = comma_to_drop(container, document, number);
    std::iter::once(item).chain(comma.map(|comma| comma..comma + 1)).collect()
}

/// Returns the comma to remove with an item: its own, or else the one before the last item.
fn comma_to_drop(container: &Container, document: &Document<'_>, number: usize) -> Option<usize> {
    let own = container.after(document, container.items[number].end).comma;
    own.or_else(|| container.after(document, container.items[number.checked_sub(1)?].end).comma)
}

/// The style in which a value is written.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// Over several lines: the line end, one step of indentation, and the indentation of the line it begins on.
    Lines { end: &'a str, step: &'a str, indent: &'a str },
    /// On one line, with a space after commas and colons.
    Line,
    /// On one line, with nothing between.
    Tight,
}

/// Returns a member as text.
pub(crate) fn written_member(name: &str, value: &Value, form: Form<'_>) -> String {
    let colon = if matches!(form, Form::Tight) { ":" } else { ": " };
    format!("{}{colon}{}", Value::from(name), written(value, form))
}

/// Returns a value as text.
pub(crate) fn written(value: &Value, form: Form<'_>) -> String {
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

/// Adds an entry to the value of a file. Conflicts have been rejected before.
pub(crate) fn with(mut root: Value, entry: &Entry) -> Value {
    put(&mut root, &entry.path, entry);
    root
}

fn put(place: &mut Value, path: &[String], entry: &Entry) {
    let (Some(members), Some((name, rest))) = (place.as_object_mut(), path.split_first()) else { return };
    let is_last = rest.is_empty();
    if is_last && entry.is_member() {
        members.insert(name.clone(), entry.value());
        return;
    }
    let empty = if is_last { json!([]) } else { Value::Object(Map::new()) };
    let inner = members.entry(name.as_str()).or_insert(empty);
    match inner.as_array_mut() {
        Some(items) if is_last => items.push(entry.value()),
        _ => put(inner, rest, entry),
    }
}

/// Removes the item at a path from the value of a file.
pub(crate) fn without(mut root: Value, place: &[Step]) -> Value {
    let Some((last, before)) = place.split_last() else { return root };
    let mut around = Some(&mut root);
    for step in before {
        around = match (step, around) {
            (Step::Name(name), Some(Value::Object(members))) => members.get_mut(name),
            (Step::Number(number), Some(Value::Array(items))) => items.get_mut(*number),
            _ => None,
        };
    }
    match (last, around) {
        (Step::Name(name), Some(Value::Object(members))) => drop(members.shift_remove(name)),
        (Step::Number(number), Some(Value::Array(items))) if *number < items.len() => drop(items.remove(*number)),
        _ => {}
    }
    root
}

/// A step into an object or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Name(String),
    Number(usize),
}

/// Returns the path of an entry, or `None` if it does not exist.
pub(crate) fn place_of(root: &Value, entry: &Entry) -> Option<Vec<Step>> {
    let mut place: Vec<Step> = entry.path.iter().cloned().map(Step::Name).collect();
    let found = entry.path.iter().try_fold(root, |value, name| value.as_object()?.get(name))?;
    let is_ours = |hook: &Value, command: &str| hook.get("command").and_then(Value::as_str) == Some(command);
    match &entry.what {
        What::Member(_) | What::Setting(_) => {}
        What::Word(word) => {
            let number = found.as_array()?.iter().position(|item| item.as_str() == Some(word))?;
            place.push(Step::Number(number));
        }
        What::Hook { command, .. } => {
            let hooks_of = |group: &Value| group.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default();
            let position = |group: &Value| hooks_of(group).iter().position(|hook| is_ours(hook, command));
            let (group, hook) =
                found.as_array()?.iter().enumerate().find_map(|(number, group)| Some((number, position(group)?)))?;
            place.extend([Step::Number(group), Step::Name("hooks".into()), Step::Number(hook)]);
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::config_edit::Unfit;

    #[test]
    fn comments_trailing_commas_and_the_mark_of_editors_are_read() {
        let text = "\u{feff}// servers\n{\"a\": [1, 2.50,], /* b */ \"b\": {\"c\": null,}, \"a\": true}";
        assert_eq!(read(text).unwrap(), json!({"b": {"c": null}, "a": true}));
        assert_eq!(read("  // nothing\n").unwrap(), json!(null));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (text, line) in
            [("{\n  \"a\": 1\n  \"b\": 2\n}", 2), ("{\n\"a\": tru\n}", 2), ("{} {}", 1), ("{\n\n", 1), ("{'a': 1}", 1)]
        {
            let Err(Unfit::Unreadable { line: found, .. }) = read(text) else { panic!("{text:?} was read") };
            assert_eq!(found, line, "{text:?}");
        }
    }

    #[test]
    fn a_file_nested_without_end_is_refused() {
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}

#[cfg(test)]
mod writing_tests {
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
