//! A batch in Markdown: a list whose indentation says what is a part of what.
//!
//! `after: NAME` says what an item waits for and `name: NAME` what others call it, at the end of its line or on lines of their own below it,
//! where `priority:`, `tags:`, `owner:`, `due:`, `defer:` and `estimate:` may stand as well. The rest below it is the description.

use serde_json::{Map, Value};

use super::entry::{BatchEntry, BatchMistake, BatchParent};
use super::lines;
use crate::timing::Clock;

/// What may stand on a line of its own below an item.
const FIELDS: [&str; 9] = ["name", "after", "priority", "tags", "owner", "kind", "due", "defer", "estimate"];

/// An item as it is read.
struct Item {
    line: usize,
    column: usize,
    fields: Map<String, Value>,
    after: Vec<String>,
    parent: Option<usize>,
    description: Vec<String>,
    /// Whether what follows below it may still be a field.
    takes_fields: bool,
}

/// Reads the items of the list.
pub(super) fn read(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    let mut items: Vec<Item> = Vec::new();
    // The items that the next one may be a part of.
    let mut above: Vec<usize> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let spaced = line.replace('\t', "    ");
        let (column, content) = (spaced.len() - spaced.trim_start().len(), spaced.trim());
        let last = items.last().map(|item| item.column);
        if let Some(title) = item(content) {
            above.retain(|place| items[*place].column < column);
            items.push(new_item(number, column, title, above.last().copied())?);
            above.push(items.len() - 1);
        } else if content.is_empty() {
            if let Some(item) = items.last_mut() {
                item.takes_fields = false;
                item.description.push(String::new());
            }
        } else if last.is_some_and(|last| column > last) {
            if let Some(item) = items.last_mut() {
                take_below(item, number, column, &spaced)?;
            }
        } else if !content.starts_with('#') {
            let what = "this belongs to no item: write `- ` before a task, and indent what belongs to it";
            return Err(BatchMistake::at(number, what));
        }
    }
    items.into_iter().map(|item| entry(item, clock)).collect()
}

/// Takes a line for an item and returns its text, without a box that is not ticked.
fn item(line: &str) -> Option<&str> {
    let bullet = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])
    })?;
    let text = bullet.strip_prefix(' ')?.trim();
    let text = text.strip_prefix("[ ]").map_or(text, str::trim);
    Some(text).filter(|text| !text.is_empty())
}

fn new_item(line: usize, column: usize, title: &str, parent: Option<usize>) -> Result<Item, BatchMistake> {
    if title.starts_with("[x]") || title.starts_with("[X]") {
        return Err(BatchMistake::at(line, "a new task is pending, and this one is ticked"));
    }
    let mut item = Item {
        line,
        column,
        fields: Map::new(),
        after: Vec::new(),
        parent,
        description: Vec::new(),
        takes_fields: true,
    };
    let mut title = title;
    // From the end, so that either may come first.
    while let Some((before, field, value)) = last_clause(title) {
        take_field(&mut item, line, field, value)?;
        title = before;
    }
    item.fields.insert("subject".to_owned(), title.into());
    Ok(item)
}

/// Returns what stands before the last clause of a title, and the clause.
fn last_clause(title: &str) -> Option<(&str, &'static str, &str)> {
    let place = |field: &'static str| title.rfind(&format!(" {field}: ")).map(|at| (at, field));
    let (at, field) = ["after", "name"].into_iter().filter_map(place).max()?;
    let value = title[at + field.len() + 3..].trim();
    Some((title[..at].trim_end(), field, value)).filter(|(before, _, value)| !before.is_empty() && !value.is_empty())
}

fn take_below(item: &mut Item, line: usize, column: usize, text: &str) -> Result<(), BatchMistake> {
    if item.takes_fields
        && let Some((key, value)) = text.trim().split_once(':')
        && let Some(field) = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key.trim()))
        && value.starts_with([' ', '\t'])
    {
        return take_field(item, line, field, value.trim());
    }
    item.takes_fields = false;
    let indent = (item.column + 2).min(column);
    item.description.push(text.get(indent..).unwrap_or(text).trim_end().to_owned());
    Ok(())
}

fn take_field(item: &mut Item, line: usize, field: &str, value: &str) -> Result<(), BatchMistake> {
    let several = || value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned);
    match field {
        "after" => item.after.extend(several()),
        "tags" => drop(item.fields.insert(field.to_owned(), several().collect::<Vec<_>>().into())),
        field if item.fields.contains_key(field) => {
            return Err(BatchMistake::at(line, format!("`{field}` is there twice")));
        }
        field => drop(item.fields.insert(field.to_owned(), value.into())),
    }
    Ok(())
}

fn entry(item: Item, clock: &Clock) -> Result<BatchEntry, BatchMistake> {
    let mut fields = item.fields;
    let description = item.description.join("\n").trim_end().to_owned();
    if !description.is_empty() {
        fields.insert("description".to_owned(), description.into());
    }
    // An item says what a line of JSON would.
    let line = Value::Object(fields).to_string();
    let mut entries = lines::read(&line, clock).map_err(|mistake| BatchMistake { line: item.line, ..mistake })?;
    let entry = entries.remove(0);
    Ok(BatchEntry { line: item.line, after: item.after, parent: item.parent.map(BatchParent::At), ..entry })
}
