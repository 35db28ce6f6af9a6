//! Entries in TOML files: a table inside a table, such as `[mcp_servers.taskyard]`.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Added, Additions, Unfit};
use crate::config_edit::config_entry::{begins_line, line_end, line_of, line_start};

/// The byte order mark that some editors put at the beginning of a file.
const MARK: char = '\u{feff}';

/// Our table: `[around.name]` with strings and lists of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// The surrounding table.
    pub around: String,
    /// Its name.
    pub name: String,
    /// What is in it.
    pub members: Vec<(String, Value)>,
}

/// Adds our table at the end of a TOML file, or inside the surrounding table if that is written on one line.
pub fn add(text: &str, entry: &TableEntry) -> Result<Added, Unfit> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let document = parse(body)?;
    let around = document.get_ref().get(entry.around.as_str());
    let mut insertion = (body.len(), at_end(body, entry));
    if let Some(found) = around {
        let table = table_of(body, found, &entry.around)?;
        if table.contains_key(entry.name.as_str()) {
            let before = meaning(body)?;
            let same = before[&entry.around].get(&entry.name) == Some(&toml::Value::Table(entry.meaning()));
            return Ok(if same { Added::AlreadyThere } else { Added::ThereOtherwise });
        }
        if is_inline(body, &found.span()) {
            insertion = inside_line(body, found.span(), table, entry);
        }
    }
    let (longer, additions) = Additions::insert(body, &[insertion]);
    let mut expected = meaning(body)?;
    let servers = expected.entry(entry.around.as_str()).or_insert_with(|| toml::Table::new().into());
    if let Some(servers) = servers.as_table_mut() {
        servers.insert(entry.name.clone(), entry.meaning().into());
    }
    if meaning(&longer).ok() != Some(expected) {
        return Err(odd(body, around.map_or(0, |found| found.span().start), entry));
    }
    let mark = text.len() - body.len();
    let existing = usize::from(around.is_some());
    Ok(Added::Now { text: format!("{}{longer}", &text[..mark]), additions: additions.shifted(mark), existing })
}

/// Removes our table from a TOML file, or returns `None` if it does not exist. Returns the remaining text and the
/// removed parts.
pub fn remove(text: &str, entry: &TableEntry) -> Result<Option<(String, Additions)>, Unfit> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let document = parse(body)?;
    let Some(around) = document.get_ref().get(entry.around.as_str()) else { return Ok(None) };
    let table = table_of(body, around, &entry.around)?;
    let Some((key, value)) = table.get_key_value(entry.name.as_str()) else { return Ok(None) };
    let mut ranges = Vec::new();
    if body[value.span()].starts_with('[') {
        collect_tables(body, value, &mut ranges);
        // The empty line that sets a table apart goes with it.
        if let Some(first) = ranges.iter_mut().min_by_key(|range| range.start) {
            let before = body[..first.start].trim_end_matches(['\n', '\r']).len();
            let blank = &body[before..first.start];
            let length =
                blank.rfind('\n').map_or(0, |last| blank[..last].rfind('\n').map_or(0, |one| blank.len() - one - 1));
            first.start -= length;
        }
    } else if is_inline(body, &around.span()) && table.len() == 1 {
        ranges.push(around.span().start + 1..around.span().end - 1);
    } else if is_inline(body, &around.span()) {
        ranges.push(key.span().start..value.span().end);
        let after = body[value.span().end..around.span().end].find(|character: char| !character.is_whitespace());
        let rest = after.map(|after| value.span().end + after).filter(|at| body[*at..].starts_with(','));
        let previous = body[..key.span().start].trim_end();
        match rest {
            Some(comma) => ranges.push(value.span().end..comma + 1),
            None if previous.ends_with(',') => ranges.push(previous.len() - 1..key.span().start),
            None => {}
        }
    } else if begins_line(body, key.span().start) && is_inline(body, &value.span()) {
        ranges.push(line_start(body, key.span().start)..end_of_line(body, value.span().end));
    }
    let mark = text.len() - body.len();
    let additions = Additions::new(ranges).shifted(mark);
    let mut expected = meaning(body)?;
    if let Some(servers) = expected.get_mut(&entry.around).and_then(toml::Value::as_table_mut) {
        servers.remove(&entry.name);
    }
    let shorter = additions.take_out(text).filter(|_| !additions.ranges().is_empty());
    let is_right = |shorter: &String| {
        let found = meaning(shorter.strip_prefix(MARK).unwrap_or(shorter)).ok();
        found.is_some_and(|found| without_empty(found, entry) == without_empty(expected.clone(), entry))
    };
    match shorter.filter(is_right) {
        Some(shorter) => Ok(Some((shorter, additions))),
        None => Err(odd(body, key.span().start, entry)),
    }
}

impl TableEntry {
    fn meaning(&self) -> toml::Table {
        let value = |value: &Value| match value {
            Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().into(),
            value => toml::Value::from(text_of(value)),
        };
        self.members.iter().map(|(name, member)| (name.clone(), value(member))).collect()
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn parse(body: &str) -> Result<Spanned<DeTable<'_>>, Unfit> {
    DeTable::parse(body).map_err(|error| Unfit::Unreadable {
        line: line_of(body, error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })
}

fn meaning(body: &str) -> Result<toml::Table, Unfit> {
    body.parse().map_err(|error: toml::de::Error| Unfit::Unreadable {
        line: line_of(body, error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })
}

/// An implicit table is removed when it becomes empty.
fn without_empty(mut root: toml::Table, entry: &TableEntry) -> toml::Table {
    if root.get(&entry.around).and_then(toml::Value::as_table).is_some_and(toml::Table::is_empty) {
        root.remove(&entry.around);
    }
    root
}

fn table_of<'t, 'a>(body: &str, found: &'t Spanned<DeValue<'a>>, name: &str) -> Result<&'t DeTable<'a>, Unfit> {
    match found.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(Unfit::Shape { line: line_of(body, found.span().start), key: name.to_owned(), expected: "table" }),
    }
}

fn odd(body: &str, at: usize, entry: &TableEntry) -> Unfit {
    Unfit::Odd { line: line_of(body, at), key: format!("{}.{}", entry.around, entry.name) }
}

fn is_inline(body: &str, span: &Range<usize>) -> bool {
    body[span.clone()].starts_with('{')
}

/// Formats a table for the end of a file. A file without a final line end still has none afterwards.
fn at_end(body: &str, entry: &TableEntry) -> String {
    let end = line_end(body);
    let lines: Vec<String> = entry.members.iter().map(|(name, value)| format!("{name} = {}", written(value))).collect();
    let table = format!("[{}.{}]{end}{}", entry.around, entry.name, lines.join(end));
    let is_apart = body.ends_with("\n\n") || body.ends_with("\n\r\n") || matches!(body, "\n" | "\r\n");
    match body.ends_with('\n') {
        _ if body.is_empty() || is_apart => format!("{table}{end}"),
        true => format!("{end}{table}{end}"),
        false => format!("{end}{end}{table}"),
    }
}

/// Returns the insertion that adds a member to a table written on one line.
fn inside_line(body: &str, span: Range<usize>, table: &DeTable<'_>, entry: &TableEntry) -> (usize, String) {
    let members: Vec<String> =
        entry.members.iter().map(|(name, value)| format!("{name} = {}", written(value))).collect();
    let new = format!("{} = {{ {} }}", entry.name, members.join(", "));
    let Some(last) = table.iter().map(|(_, value)| last_end(value)).max() else {
        return (span.start + 1, format!(" {new} "));
    };
    match body[last..span.end].find(',') {
        Some(comma) => (last + comma + 1, format!(" {new},")),
        None => (last, format!(", {new}")),
    }
}

/// Returns the end of the last element of a value.
fn last_end(value: &Spanned<DeValue<'_>>) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.iter().map(|(_, value)| last_end(value)).max(),
        _ => None,
    };
    value.span().end.max(inner.unwrap_or(0))
}

/// Collects the lines of a table with a header, and of those below it.
fn collect_tables(body: &str, value: &Spanned<DeValue<'_>>, ranges: &mut Vec<Range<usize>>) {
    let DeValue::Table(table) = value.get_ref() else { return };
    let has_header = |value: &Spanned<DeValue<'_>>| {
        matches!(value.get_ref(), DeValue::Table(_)) && body[value.span()].starts_with('[')
    };
    let own = table.iter().filter(|(_, value)| !has_header(value)).map(|(_, value)| last_end(value)).max();
    let end = own.unwrap_or(0).max(value.span().end);
    ranges.push(line_start(body, value.span().start)..end_of_line(body, end));
    for (_, inner) in table.iter().filter(|(_, value)| has_header(value)) {
        collect_tables(body, inner, ranges);
    }
}

fn end_of_line(body: &str, at: usize) -> usize {
    body[at..].find('\n').map_or(body.len(), |newline| at + newline + 1)
}

/// Formats a string or a list of strings as TOML, which supports the escapes of JSON.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}
