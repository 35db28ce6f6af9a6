//! Taking an entry out of a JSON file.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use serde_json::Value;

use super::super::{Additions, Entry, Unfit, What};
use super::container::Container;
use super::document::{Document, member, read};
use super::meaning::{Step, place_of, without};

/// Takes an entry of ours out of a JSON file; none where it is not there, or is a setting that has another value now. Returns the text without it, and what of the given
/// text that was.
///
/// So many of the names that lead to the entry stay whatever happens; what is empty below them goes too.
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

/// Tells whether nothing else stands beside what stands at a place. A group of hooks that holds only our command goes as a
/// whole, with whatever says when it runs.
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

/// Finds the container of what stands at a place, and its number in it.
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

/// Returns what to take out for an item to go together with the line it stands on.
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

/// Returns what to take out for an item to go, and nothing around it.
fn bare(container: &Container, document: &Document<'_>, number: usize) -> Vec<Range<usize>> {
    let item = container.items[number].clone();
    let comma = comma_to_drop(container, document, number);
    std::iter::once(item).chain(comma.map(|comma| comma..comma + 1)).collect()
}

/// Returns the comma that goes with an item: its own, else the one before the last item.
fn comma_to_drop(container: &Container, document: &Document<'_>, number: usize) -> Option<usize> {
    let own = container.after(document, container.items[number].end).comma;
    own.or_else(|| container.after(document, container.items[number.checked_sub(1)?].end).comma)
}
