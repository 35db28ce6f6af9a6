//! Entries in YAML files: a mapping inside a top-level mapping, such as `extensions.taskyard`.
//!
//! Files are read line by line: keys at the start of a line, and the block of lines below them. Other styles (braces,
//! several documents, tabs as indentation) are rejected and never edited.

use std::ops::Range;

use serde_json::Value;

use super::{Added, Additions, Unfit};
use crate::config_edit::config_entry::{line_end, line_of};
use crate::config_edit::toml_entries::TableEntry;

/// The indentation of our entry if the mapping is otherwise empty.
const INDENTATION: usize = 2;

/// Adds our mapping to a YAML file as the first entry of the surrounding mapping, which is created at the end of the
/// file if it does not exist.
pub fn add(text: &str, entry: &TableEntry) -> Result<Added, Unfit> {
    let end = line_end(text);
    let (insertion, existing) = match find(text, entry)? {
        Found { ours: Some(range), indentation, .. } => {
            let is_same = text[range].trim_end() == block(entry, indentation, end).trim_end();
            return Ok(if is_same { Added::AlreadyThere } else { Added::ThereOtherwise });
        }
        Found { around: Some(header), indentation, .. } => {
            let block = block(entry, indentation, end);
            let is_whole_line = text[header.clone()].ends_with('\n');
            let new = if is_whole_line { block } else { format!("{end}{}", block.trim_end()) };
            ((header.end, new), 1)
        }
        Found { .. } => {
            let block = format!("{}:{end}{}", entry.around, block(entry, INDENTATION, end));
            let is_whole_line = text.is_empty() || text.ends_with('\n');
            let new = if is_whole_line { block } else { format!("{end}{}", block.trim_end()) };
            ((text.len(), new), 0)
        }
    };
    let at = insertion.0;
    let (longer, additions) = Additions::insert(text, &[insertion]);
    match find(&longer, entry) {
        Ok(Found { ours: Some(_), .. }) => Ok(Added::Now { text: longer, additions, existing }),
        _ => Err(odd(text, at, entry)),
    }
}

/// Removes our mapping from a YAML file, or returns `None` if it does not exist. The surrounding mapping is removed too
/// if it is empty then. Returns the remaining text and the removed parts.
pub fn remove(text: &str, entry: &TableEntry) -> Result<Option<(String, Additions)>, Unfit> {
    let Found { around: Some(header), ours: Some(ours), is_alone, .. } = find(text, entry)? else { return Ok(None) };
    let range = if is_alone { header.start..ours.end } else { ours };
    let additions = Additions::new(vec![range]);
    let shorter = additions.take_out(text).ok_or_else(|| odd(text, header.start, entry))?;
    match find(&shorter, entry)?.ours {
        None => Ok(Some((shorter, additions))),
        Some(_) => Err(odd(text, header.start, entry)),
    }
}

/// The relevant parts of a file.
#[derive(Default)]
struct Found {
    /// The first line of the surrounding mapping.
    around: Option<Range<usize>>,
    /// The indentation of the entries of that mapping.
    indentation: usize,
    /// The lines of our entry.
    ours: Option<Range<usize>>,
    /// Whether the surrounding mapping contains nothing else.
    is_alone: bool,
}

fn find(text: &str, entry: &TableEntry) -> Result<Found, Unfit> {
    let mut found = Found { indentation: INDENTATION, is_alone: true, ..Found::default() };
    let (mut is_within, mut first, mut begun) = (false, true, false);
    for (range, line) in lines(text) {
        let content = line.trim_start_matches(' ');
        let depth = line.len() - content.len();
        if content.starts_with('\t') {
            return Err(Unfit::Unreadable { line: line_of(text, range.start), why: "a tab indents it".to_owned() });
        }
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if depth == 0 {
            is_within = false;
            if line == "---" && !begun {
                continue;
            }
            begun = true;
            let Some((key, rest)) = key_of(line) else { return Err(odd(text, range.start, entry)) };
            if key != entry.around {
                continue;
            }
            if found.around.is_some() || !rest.is_empty() {
                return Err(odd(text, range.start, entry));
            }
            (is_within, found.around) = (true, Some(range));
            continue;
        }
        if !is_within {
            continue;
        }
        if first {
            (first, found.indentation) = (false, depth);
        }
        match found.ours.as_mut().filter(|ours| text[ours.end..range.start].trim().is_empty()) {
            Some(ours) if depth > found.indentation => ours.end = range.end,
            _ if depth > found.indentation => {}
            _ if depth < found.indentation => return Err(odd(text, range.start, entry)),
            _ => {
                let Some((key, _)) = key_of(content) else { return Err(odd(text, range.start, entry)) };
                if key != entry.name {
                    found.is_alone = false;
                } else if found.ours.replace(range.clone()).is_some() {
                    return Err(odd(text, range.start, entry));
                }
            }
        }
    }
    Ok(found)
}

/// Returns the lines of a text, each with its range, including the line end, and without trailing spaces.
fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        (range, line.trim_end())
    })
}

/// Returns the key at the start of a line and the rest without a comment, or `None` if it does not start with a key.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_plain =
        |key: &str| !key.is_empty() && !key.starts_with(['-', '?', '{', '[', '&', '*', '!', '|', '>', '%', '@']);
    let bare = key.trim_matches(['"', '\'']);
    let rest = rest.trim_start();
    let rest = if rest.starts_with('#') { "" } else { rest };
    is_plain(key).then_some((bare, rest))
}

fn odd(text: &str, at: usize, entry: &TableEntry) -> Unfit {
    Unfit::Odd { line: line_of(text, at), key: format!("{}.{}", entry.around, entry.name) }
}

/// Formats an entry.
fn block(entry: &TableEntry, indentation: usize, end: &str) -> String {
    let (outer, inner) = (" ".repeat(indentation), " ".repeat(indentation + INDENTATION));
    let mut block = format!("{outer}{}:{end}", entry.name);
    for (name, value) in &entry.members {
        match value {
            Value::Array(items) => {
                block.push_str(&format!("{inner}{name}:{end}"));
                items.iter().for_each(|item| block.push_str(&format!("{inner}- {}{end}", written(item))));
            }
            value => block.push_str(&format!("{inner}{name}: {}{end}", written(value))),
        }
    }
    block
}

/// Formats a value as JSON, which YAML understands; plain words need no quotes.
fn written(value: &Value) -> String {
    let is_plain = |text: &&str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
            && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_lowercase().as_str())
    };
    value.as_str().filter(is_plain).map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Added, TableEntry, Unfit, add, remove};

    fn entry() -> TableEntry {
        let members = [("enabled", json!(true)), ("cmd", json!("taskyard")), ("args", json!(["mcp", "--x"]))];
        let members = members.map(|(name, value)| (name.to_owned(), value)).into();
        TableEntry { around: "extensions".to_owned(), name: "taskyard".to_owned(), members }
    }

    const OURS: &str = "  taskyard:\n    enabled: true\n    cmd: taskyard\n    args:\n    - mcp\n    - \"--x\"\n";

    fn added(text: &str) -> String {
        let Added::Now { text: longer, additions, .. } = add(text, &entry()).unwrap() else { panic!("{text}") };
        assert_eq!(additions.take_out(&longer).as_deref(), Some(text));
        assert!(matches!(add(&longer, &entry()), Ok(Added::AlreadyThere)), "{longer}");
        longer
    }

    #[test]
    fn an_entry_comes_first_in_its_mapping_or_at_the_end() {
        assert_eq!(added(""), format!("extensions:\n{OURS}"));
        assert_eq!(added("a: 1 # mine\n"), format!("a: 1 # mine\nextensions:\n{OURS}"));
        assert_eq!(added("a: 1"), format!("a: 1\nextensions:\n{}", OURS.trim_end()));
        let text = "extensions: # all\n  developer:\n    enabled: true\nb: |\n  extensions:\n";
        assert_eq!(added(text), text.replace("all\n", &format!("all\n{OURS}")));
        let wide = "extensions:\n    developer:\n        enabled: true\n";
        assert!(added(wide).starts_with("extensions:\n    taskyard:\n      enabled: true\n"), "{}", added(wide));
        assert_eq!(added("extensions:"), format!("extensions:\n{}", OURS.trim_end()));
        assert!(added("a: 1\r\n").ends_with("    - mcp\r\n    - \"--x\"\r\n"));
    }

    #[test]
    fn another_entry_of_the_name_stays() {
        let other = "extensions:\n  taskyard:\n    cmd: other\n  z:\n    enabled: true\n";
        assert!(matches!(add(other, &entry()), Ok(Added::ThereOtherwise)));
        let (shorter, _) = remove(other, &entry()).unwrap().unwrap();
        assert_eq!(shorter, "extensions:\n  z:\n    enabled: true\n");
        assert_eq!(remove("a: 1\n", &entry()).unwrap(), None);
    }

    #[test]
    fn what_was_added_goes_without_a_trace() {
        for text in ["a: 1\n", "extensions:\n  developer:\n    enabled: true\n\nb: 2\n"] {
            assert_eq!(remove(&added(text), &entry()).unwrap().unwrap().0, text);
        }
    }

    #[test]
    fn what_cannot_be_read_by_lines_is_left_alone() {
        for text in [
            "{extensions: {}}\n",
            "extensions: {}\n",
            "extensions:\n- a\n",
            "a: 1\n---\nb: 2\n",
            "extensions:\n  a:\n    b: 1\nextensions:\n",
            "just words\n",
        ] {
            assert!(matches!(add(text, &entry()), Err(Unfit::Odd { .. })), "{text}");
        }
        assert!(matches!(add("extensions:\n\ta: 1\n", &entry()), Err(Unfit::Unreadable { line: 2, .. })));
    }
}
