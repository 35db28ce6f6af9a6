//! The part of YAML that programs write at the head of Markdown files: texts and lists of texts.

use crate::json_text;

/// What a key is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    List(Vec<String>),
}

/// Divides a file into the fields of its head and the body below; none where it has no head.
pub(super) fn divide(file: &str) -> Option<(Vec<(String, Field)>, &str)> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let rest = file.strip_prefix("---\n").or_else(|| file.strip_prefix("---\r\n"))?;
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((fields(&rest[..length]), &rest[length + line.len()..]));
        }
        length += line.len();
    }
    None
}

fn fields(head: &str) -> Vec<(String, Field)> {
    let mut fields: Vec<(String, Field)> = Vec::new();
    let mut lines = head.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        let is_key = !line.starts_with([' ', '-', '#']);
        let Some((key, value)) = line.split_once(':').filter(|_| is_key) else { continue };
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with([' ', '-'])) {
            below.push(line);
        }
        fields.push((key.trim().to_owned(), field(value.trim(), &below)));
    }
    fields
}

fn field(value: &str, below: &[&str]) -> Field {
    match value {
        "" => {
            let items = below.iter().filter_map(|line| line.trim_start().strip_prefix('-'));
            let items: Vec<String> = items.map(|item| scalar(item.trim())).collect();
            if items.is_empty() && below.is_empty() { Field::Text(String::new()) } else { Field::List(items) }
        }
        ">" | ">-" | ">+" => Field::Text(below.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")),
        "|" | "|-" | "|+" => Field::Text(unindented(below)),
        _ if value.starts_with('[') && value.ends_with(']') => {
            let inner = value[1..value.len() - 1].trim();
            Field::List(items(inner).into_iter().map(|item| scalar(item.trim())).collect())
        }
        // A long text goes on in the lines below.
        _ => {
            let whole = below.iter().fold(value.to_owned(), |whole, line| format!("{whole} {}", line.trim()));
            Field::Text(scalar(whole.trim()))
        }
    }
}

/// Divides `a, 'b, c'` at the commas that are not within quotes.
fn items(inner: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, character) in inner.char_indices() {
        match (quote, character) {
            (Some(open), character) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, ',') => {
                items.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&inner[start..]);
    items.retain(|item| !item.trim().is_empty());
    items
}

fn scalar(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        // The escapes of JSON are those that programs write here, too.
        return json_text::from_str(text).unwrap_or_else(|_| text[1..text.len() - 1].to_owned());
    }
    if text == "null" || text == "~" { String::new() } else { text.to_owned() }
}

fn unindented(lines: &[&str]) -> String {
    let filled = lines.iter().filter(|line| !line.is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Field, divide};

    #[test]
    fn texts_and_lists_are_read_in_every_way_they_are_written() {
        let file = "---\nid: task-1\ntitle: 'It''s: here'\nlong: >-\n  one\n  two\nempty: []\nflow: [a, 'b, c']\nlist:\n  - '@ana'\n  - \"x\\ty\"\nflat:\n- z\nnone:\n---\n\nBody\n---\n";
        let (fields, body) = divide(file).unwrap();
        let text = |text: &str| Field::Text(text.to_owned());
        let list = |items: &[&str]| Field::List(items.iter().map(|item| (*item).to_owned()).collect());
        let expected = [
            ("id", text("task-1")),
            ("title", text("It's: here")),
            ("long", text("one two")),
            ("empty", list(&[])),
            ("flow", list(&["a", "b, c"])),
            ("list", list(&["@ana", "x\ty"])),
            ("flat", list(&["z"])),
            ("none", text("")),
        ];
        assert_eq!(fields, expected.map(|(key, field)| (key.to_owned(), field)));
        assert_eq!(body, "\nBody\n---\n");
        assert_eq!(divide("# No head\n"), None);
    }
}
