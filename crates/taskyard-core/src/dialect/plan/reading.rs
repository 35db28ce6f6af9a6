//! Parses the text of a plan. The caller interprets the values of the fields.

use serde_json::{Map, Value};

use crate::{Status, TaskId, Timestamp};

/// The fields that may appear on lines of their own below an item.
const FIELDS: [&str; 16] = [
    "name",
    "after",
    "blocks",
    "parent",
    "priority",
    "tags",
    "owner",
    "kind",
    "project",
    "activeForm",
    "due",
    "defer",
    "estimate",
    "every",
    "description",
    "meta",
];

/// The prefix of the first line of a note. [`MORE`] is the prefix of its other lines.
pub(super) const NOTE: &str = "> note";
pub(super) const MORE: &str = ">   ";

/// The prefix of comment lines, which are skipped anywhere in the text.
pub(crate) const COMMENT: &str = "#!";

/// The kind of text that contains the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A page whose items have boxes and may end with `(after #1)`.
    Checklist,
    /// A list of tasks, with or without boxes, whose items may also end with `after: NAME` and `name: NAME`. If the
    /// first item has a box and an id, Taskyard wrote the list and only items with boxes are tasks.
    Batch,
}

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// The items, in order.
    pub(crate) items: Vec<Item>,
    /// The numbers of the lines outside of any item, from 1.
    pub(crate) stray: Vec<usize>,
}

/// One item.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    /// The number of its first line, from 1.
    pub(crate) line: usize,
    column: usize,
    /// The character in its box.
    pub(crate) mark: Option<char>,
    /// The id before its title.
    pub(crate) id: Option<TaskId>,
    /// The title, without id and clauses.
    pub(crate) title: String,
    /// The rest of its line after the box.
    pub(crate) whole: String,
    /// The fields, in order, including the clauses at the end of its line.
    pub(crate) fields: Vec<Field>,
    /// The index of the item it is a part of.
    pub(crate) parent: Option<usize>,
    /// The text below it.
    pub(crate) description: String,
    /// The notes below it.
    pub(crate) notes: Vec<Value>,
    /// The heading above it.
    pub(crate) section: String,
    /// Whether the next line below it may still be a field.
    takes_fields: bool,
    /// Whether the next line below it is inside a code block.
    is_in_code: bool,
}

/// A field of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The name, one of [`FIELDS`].
    pub(crate) name: &'static str,
    /// The value; a JSON string is unquoted.
    pub(crate) value: String,
    /// The line number, from 1.
    pub(crate) line: usize,
}

impl Item {
    /// Returns the first field of a name.
    #[cfg(test)]
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the comma-separated words of all fields of a name.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        let fields = self.fields.iter().filter(|field| field.name == name);
        let words = fields.flat_map(|field| field.value.split(','));
        words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

/// Returns the status that a box stands for; crossed-out boxes count as completed.
pub(crate) fn box_status(mark: char) -> Status {
    match mark {
        'x' | 'X' | '-' | '~' => Status::Completed,
        '/' | '>' => Status::InProgress,
        _ => Status::Pending,
    }
}

/// Returns whether a line is an item with a box.
fn is_item(line: &str) -> bool {
    bullet(line, true).is_some()
}

impl Plan {
    /// Parses a text.
    pub(crate) fn read(text: &str, form: Form) -> Self {
        let first = text.lines().find_map(|line| bullet(line.trim(), false));
        let is_ours = first.is_some_and(|(mark, title)| mark.is_some() && id_before(title).is_some());
        let needs_box = form == Form::Checklist || is_ours;
        let mut plan = Self::default();
        // The items that may be the parent of the next one.
        let mut above: Vec<usize> = Vec::new();
        let mut section = String::new();
        let mut is_in_code = false;
        for (number, line) in text.lines().enumerate() {
            if line.starts_with(COMMENT) {
                continue;
            }
            let number = number + 1;
            let content = line.trim();
            let column = width(&line[..line.len() - line.trim_start().len()]);
            let is_fence = content.starts_with("```");
            let current = above.last().copied();
            if let Some(item) = current.map(|place| &mut plan.items[place]).filter(|item| item.is_in_code) {
                if content.is_empty() || column > item.column {
                    item.description.push_str(&format!("\n{}", without_indent(line, item.column + 2)));
                    item.is_in_code = !is_fence;
                    continue;
                }
                item.is_in_code = false;
            }
            if is_in_code {
                is_in_code = !is_fence;
                plan.stray.push(number);
                continue;
            }
            if content.is_empty() {
                if let Some(item) = current.map(|place| &mut plan.items[place]) {
                    item.takes_fields = false;
                    if !item.description.is_empty() {
                        item.description.push('\n');
                    }
                }
            } else if let Some((mark, title)) = bullet(content, needs_box) {
                above.retain(|place| plan.items[*place].column < column);
                let parent = above.last().copied();
                let section = section.clone();
                let item = Item { line: number, column, mark, parent, section, takes_fields: true, ..Item::default() };
                above.push(plan.items.len());
                plan.items.push(item.titled(title, form));
            } else if let Some(item) = current.map(|place| &mut plan.items[place]).filter(|item| column > item.column) {
                item.take_below(line, number, is_ours);
                item.is_in_code = is_fence;
            } else if content.starts_with('#') {
                content.trim_start_matches('#').trim().clone_into(&mut section);
                above.clear();
            } else {
                above.clear();
                is_in_code = is_fence;
                plan.stray.push(number);
            }
        }
        for item in &mut plan.items {
            item.description.truncate(item.description.trim_end().len());
        }
        plan
    }
}

/// Parses a line as an item. Returns the character in its box and the text after it.
fn bullet(line: &str, needs_box: bool) -> Option<(Option<char>, &str)> {
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])
    })?;
    let boxed = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|(mark, title)| {
        let mut marks = mark.chars();
        let (Some(mark), None) = (marks.next(), marks.next()) else { return None };
        let is_mark = needs_box || " xX-~/>".contains(mark);
        is_mark.then_some((Some(mark), title.trim()))
    });
    let found = match boxed {
        Some(found) => found,
        None if needs_box => return None,
        None => (None, rest.strip_prefix(' ')?.trim()),
    };
    Some(found).filter(|(_, title)| !title.is_empty())
}

/// Splits an id and the title behind it.
fn id_before(title: &str) -> Option<(TaskId, &str)> {
    let (id, rest) = title.strip_prefix('#')?.split_once(' ')?;
    let rest = rest.trim();
    id.parse().ok().filter(|_| !rest.is_empty()).map(|id| (id, rest))
}

impl Item {
    fn titled(mut self, text: &str, form: Form) -> Self {
        text.clone_into(&mut self.whole);
        let (id, mut title) = id_before(text).map_or((None, text), |(id, rest)| (Some(id), rest));
        // A title may be a JSON string only behind an id, because people put titles in quotes, too.
        let quoted = id.as_ref().and_then(|_| json_string(title));
        self.id = id;
        if let Some((exact, rest)) = quoted {
            self.title = exact;
            if let Some((_, ids)) = ids_after(&format!("x {}", rest.trim())) {
                self.take("after", ids);
            }
            return self;
        }
        let mut clauses = Vec::new();
        while form == Form::Batch
            && let Some((before, name, value)) = last_clause(title)
        {
            clauses.push((name, value));
            title = before;
        }
        if let Some((before, ids)) = ids_after(title) {
            self.take("after", ids);
            title = before;
        }
        // The clauses were read from the end of the line.
        clauses.into_iter().rev().for_each(|(name, value)| self.take(name, value.to_owned()));
        title.trim().clone_into(&mut self.title);
        self
    }

    fn take(&mut self, name: &'static str, value: String) {
        self.fields.push(Field { name, value, line: self.line });
    }

    /// Parses a line below the item.
    fn take_below(&mut self, line: &str, number: usize, may_be_empty: bool) {
        if self.takes_fields
            && let Some((name, value)) = field(line.trim(), may_be_empty)
        {
            return self.fields.push(Field { name, value, line: number });
        }
        self.takes_fields = false;
        if self.take_note(line.trim_start()) {
            return;
        }
        if !self.description.is_empty() {
            self.description.push('\n');
        }
        self.description.push_str(&unescaped(&without_indent(line, self.column + 2)));
    }

    /// Parses a line as part of a note. Returns whether it is one.
    pub(super) fn take_note(&mut self, line: &str) -> bool {
        let more = line.strip_prefix(MORE).or((line.trim_end() == ">").then_some(""));
        if let (Some(more), Some(Value::String(said))) =
            (more, self.notes.last_mut().and_then(|note| note.get_mut("text")))
        {
            said.push('\n');
            said.push_str(more);
            return true;
        }
        let Some((head, said)) = line.strip_prefix(NOTE).and_then(|rest| rest.split_once(": ")) else { return false };
        let mut note = Map::new();
        if let Some(head) = head.strip_prefix(" (").and_then(|head| head.strip_suffix(')')) {
            let (at, author) = head.split_once(' ').map_or((Some(head), None), |(at, author)| (Some(at), Some(author)));
            let at = at.filter(|at| Timestamp::parse(at).is_some());
            let author = if at.is_some() { author } else { Some(head) };
            note.extend(at.map(|at| ("at".to_owned(), at.into())));
            note.extend(author.map(|author| ("author".to_owned(), author.into())));
        } else if !head.is_empty() {
            return false;
        }
        note.insert("text".to_owned(), said.into());
        self.notes.push(Value::Object(note));
        true
    }
}

/// Returns the JSON string that a text begins with, and the rest.
fn json_string(text: &str) -> Option<(String, &str)> {
    if !text.starts_with('"') {
        return None;
    }
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let exact = strings.next()?.ok()?;
    let rest = &text[strings.byte_offset()..];
    (rest.trim().is_empty() || rest.starts_with(" (after #")).then_some((exact, rest))
}

/// Splits `(after #1, #2)` off the end of a title. Returns the title and `#1, #2`.
fn ids_after(title: &str) -> Option<(&str, String)> {
    let (before, on) = title.strip_suffix(')')?.rsplit_once(" (after #")?;
    let ids: Result<Vec<TaskId>, _> = on.split(", #").map(str::parse).collect();
    let ids: Vec<String> = ids.ok()?.iter().map(|id| format!("#{id}")).collect();
    Some((before.trim_end(), ids.join(", "))).filter(|(before, _)| !before.is_empty())
}

/// Splits the last clause off a title.
fn last_clause(title: &str) -> Option<(&str, &'static str, &str)> {
    let place = |field: &'static str| title.rfind(&format!(" {field}: ")).map(|at| (at, field));
    let (at, field) = ["after", "name"].into_iter().filter_map(place).max()?;
    let value = title[at + field.len() + 3..].trim();
    Some((title[..at].trim_end(), field, value)).filter(|(before, _, value)| !before.is_empty() && !value.is_empty())
}

/// Parses a line as a field: its name in any case, a colon and a space.
fn field(line: &str, may_be_empty: bool) -> Option<(&'static str, String)> {
    let (key, value) = line.split_once(':')?;
    let name = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key.trim()))?;
    if value.is_empty() {
        return may_be_empty.then(|| (*name, String::new()));
    }
    let value = value.strip_prefix([' ', '\t'])?.trim();
    let exact = value.strip_prefix('"').and_then(|_| serde_json::from_str(value).ok());
    Some((*name, exact.unwrap_or_else(|| value.to_owned())))
}

/// Reverses [`escaped`].
fn unescaped(line: &str) -> String {
    match line.trim_start().strip_prefix('\\').filter(|rest| is_special(rest)) {
        Some(_) => line.replacen('\\', "", 1),
        None => line.to_owned(),
    }
}

/// Escapes a line of a description that would otherwise be read as an item or a note.
pub(super) fn escaped(line: &str) -> String {
    let content = line.trim_start();
    if !is_special(content) {
        return line.to_owned();
    }
    format!("{}\\{content}", &line[..line.len() - content.len()])
}

fn is_special(content: &str) -> bool {
    let content = content.trim_start_matches('\\');
    is_item(content.trim()) || content.starts_with(NOTE)
}

/// Returns the width of white space in columns; a tab counts as four.
fn width(indent: &str) -> usize {
    indent.chars().map(|character| if character == '\t' { 4 } else { 1 }).sum()
}

/// Removes up to `columns` columns of leading white space.
fn without_indent(line: &str, columns: usize) -> String {
    let mut left = columns;
    let mut rest = line;
    while left > 0 {
        match rest.chars().next() {
            Some(' ') => (left, rest) = (left - 1, &rest[1..]),
            Some('\t') if left >= 4 => (left, rest) = (left - 4, &rest[1..]),
            Some('\t') => return " ".repeat(4 - left) + &rest[1..],
            _ => break,
        }
    }
    rest.to_owned()
}
