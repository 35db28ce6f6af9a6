//! Adding an entry to a JSON file.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use serde_json::{Value, json};

use super::super::text_layout::{begins_line, indentation, line_end};
use super::super::{Added, Additions, Entry, Unfit};
use super::container::Container;
use super::document::{Document, member, read};
use super::meaning::{place_of, with};
use super::writing::{Form, written, written_member};

/// What is used where a file does not show how it is indented.
const STEP: &str = "  ";

/// Adds an entry of ours to a JSON file, in the way the file is written. Objects and arrays on the way to it are made where
/// they are missing. What is there already stays as it is.
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

/// Finds where on the way to the entry the first thing is missing, and adds everything from there on.
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

/// Returns the text of a file that has nothing but this entry, below what an empty file may hold: comments.
fn whole(text: &str, entry: &Entry) -> String {
    let end = line_end(text);
    let first = entry.path.first().cloned().unwrap_or_default();
    let form = Form::Lines { end, step: STEP, indent: "" };
    let new_line = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    format!("{new_line}{}{end}", written(&json!({ first: rest(entry, 0) }), form))
}

/// Returns what to insert where, so that a container gets one more item.
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

/// Returns one step of indentation as the file has it: that of the first member of its outermost object.
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
