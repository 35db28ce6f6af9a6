//! Answers of tools: text, structured content, and how they are shortened to fit the limit.

use std::borrow::Cow;

use serde_json::Value;

use super::schema::{Field, Object, Shape};
use crate::dialect::native;
use crate::render::escaping;
use crate::tools::refusing::InputError;
use crate::{ClientVersion, Rules, Status, Task, TaskId};

/// The maximum length of an answer in UTF-16 code units.
pub(crate) const LONGEST: usize = 100_000;

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The text for the model.
    pub text: String,
    /// The structured content for programs. In the client it is a string for an invalid input and an object
    /// otherwise.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl Answer {
    /// Creates the answer to a successful call.
    pub(crate) fn new(text: impl Into<String>, structured: Value) -> Self {
        Self { text: limited(text.into()), structured: Some(structured), is_error: false }
    }

    /// Creates the answer to a failed call.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: limited(text.into()), structured: None, is_error: true }
    }

    /// Adds structured content.
    #[must_use]
    pub(crate) fn with(self, structured: Value) -> Self {
        Self { structured: Some(structured), ..self }
    }
}

impl From<InputError> for Answer {
    fn from(error: InputError) -> Self {
        Self::error(error.to_string()).with(error.details().into())
    }
}

/// Cuts out the middle of a text that exceeds the limit, at line breaks if possible, and inserts a notice.
fn limited(text: String) -> String {
    // Each code unit takes at least one byte, so a text with few bytes is short enough.
    if text.len() <= LONGEST {
        return text;
    }
    let length = units(&text);
    if length <= LONGEST {
        return text;
    }
    // The numbers in the notice have at most as many digits as the length.
    let room = LONGEST - notice(length, length).len();
    let (begins, ends) = (room - room / 4, room / 4);
    let beginning = &text[..prefix(&text, begins)];
    let beginning = match beginning.rfind('\n') {
        Some(line) if beginning.len() - line <= LONGEST_BREAK => &beginning[..line],
        _ => beginning,
    };
    let end = &text[suffix(&text, ends)..];
    let end = match end.find('\n') {
        Some(line) if line <= LONGEST_BREAK => &end[line + 1..],
        _ => end,
    };
    let middle = text[beginning.len()..text.len() - end.len()].trim_matches('\n');
    format!("{beginning}{}{end}", notice(middle.lines().count(), units(middle)))
}

/// At most this many bytes are given up to cut at a line break.
const LONGEST_BREAK: usize = 4_000;

fn notice(lines: usize, characters: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!(
        "\n[{lines} line{plural} ({characters} characters) left out here: an answer has at most {LONGEST} characters]\n"
    )
}

/// Returns the end of the longest prefix with at most `room` UTF-16 code units.
fn prefix(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let first_too_many = text.char_indices().find(|(_, character)| {
        taken += character.len_utf16();
        taken > room
    });
    first_too_many.map_or(text.len(), |(position, _)| position)
}

/// Returns the start of the longest suffix with at most `room` UTF-16 code units.
pub(super) fn suffix(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let last_too_many = text.char_indices().rev().find(|(_, character)| {
        taken += character.len_utf16();
        taken > room
    });
    last_too_many.map_or(0, |(position, character)| position + character.len_utf8())
}

/// Returns the length in UTF-16 code units, as JavaScript counts.
pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Task ids.
pub(super) const IDS: Shape = Shape::List(&Shape::Text);
/// The status words.
pub(super) const STATUSES: Shape = Shape::Choice(&["pending", "in_progress", "completed"]);
/// A string or null.
pub(super) const TEXT_OR_NONE: Shape = Shape::AnyOf(&[Shape::Text, Shape::Null]);
/// A task in the native shape.
pub(super) const NATIVE_TASK: Shape = Shape::Object(Object::answer(&[
    Field::required("id", Shape::Text),
    Field::required("subject", Shape::Text),
    Field::required("description", Shape::Text),
    Field::optional("activeForm", Shape::Text),
    Field::optional("owner", Shape::Text),
    Field::required("status", STATUSES),
    Field::required("blocks", IDS),
    Field::required("blockedBy", IDS),
    Field::optional("metadata", Shape::Record),
]));

/// Returns the subject of a task: as stored under client rules, as displayed under strict rules.
pub(super) fn subject_told(task: &Task, rules: Rules) -> Cow<'_, str> {
    if rules.is_client() { Cow::Borrowed(&task.subject) } else { task.shown_subject() }
}

/// Returns an answer whose text is its structured content as JSON: indented up to client 2.1.99, on one line since
/// 2.1.100.
pub(super) fn said(value: Value, rules: Rules) -> Answer {
    let text = match rules.client_version() {
        ClientVersion::V2_1_34 => native::stringify(&value),
        ClientVersion::V2_1_325 => value.to_string(),
    };
    Answer::new(text, value)
}

/// A task that can be printed as one line of a list.
pub(super) trait ListLine {
    /// Returns the id to display.
    fn id(&self) -> &str;

    /// Returns the status.
    fn status(&self) -> Status;

    /// Returns the full line.
    fn whole(&self) -> String;

    /// Returns the line with every text cut to `longest` characters and with few blockers.
    fn shortened(&self, longest: usize) -> String;
}

/// How many blockers a shortened line names.
const BLOCKERS_NAMED: usize = 3;
/// The minimum length of cut texts. If that is not short enough, the list shows only ids.
const NARROWEST_LINE: usize = 12;
/// The minimum length of cut texts in JSON elements. Ids are shorter than this in every dialect, so they are never
/// cut.
const NARROWEST_ELEMENT: usize = 48;
/// The keys that remain in an element if cutting texts is not enough.
const BARE_KEYS: [&str; 4] = ["id", "subject", "description", "status"];

/// Returns one line per task, followed by `last`. If that exceeds the limit, lists only the open tasks, shortened if
/// necessary, then the number of completed tasks with `how_to_see`.
pub(super) fn lines_that_fit<T: ListLine>(tasks: &[T], how_to_see: &str, last: &str) -> String {
    let longest = LONGEST.saturating_sub(units(last));
    format!("{}{last}", lines_within(tasks, how_to_see, longest))
}

fn lines_within<T: ListLine>(tasks: &[T], how_to_see: &str, longest: usize) -> String {
    let all = joined(tasks.iter().map(T::whole));
    if units(&all) <= longest {
        return all;
    }
    let open: Vec<&T> = tasks.iter().filter(|task| task.status().is_open()).collect();
    let folded = folded(tasks.len() - open.len(), how_to_see);
    let room = longest.saturating_sub(units(&folded));
    let whole = joined(open.iter().map(|task| task.whole()));
    if units(&whole) <= room {
        return format!("{whole}{folded}");
    }
    let shortened = |longest: usize| joined(open.iter().map(|task| task.shortened(longest)));
    match widest(NARROWEST_LINE, |longest| units(&shortened(longest)) <= room) {
        Some(longest) => format!("{}{folded}", shortened(longest)),
        None => format!("{}{folded}", by_number(&open)),
    }
}

/// Serializes elements with `print`, cutting their texts until the result has at most `room` characters.
pub(super) fn elements_that_fit(elements: &[Value], room: usize, print: impl Fn(&[Value]) -> String) -> String {
    let whole = print(elements);
    if units(&whole) <= room {
        return whole;
    }
    let cut =
        |longest: usize| -> Vec<Value> { elements.iter().map(|element| with_short_texts(element, longest)).collect() };
    if let Some(longest) = widest(NARROWEST_ELEMENT, |longest| units(&print(&cut(longest))) <= room) {
        return print(&cut(longest));
    }
    let bare: Vec<Value> = cut(NARROWEST_ELEMENT).into_iter().map(with_bare_keys).collect();
    print(&bare)
}

/// Returns the line for the completed tasks, beginning with a line break; empty if there are none.
pub(super) fn folded(completed: usize, how_to_see: &str) -> String {
    match completed {
        0 => String::new(),
        completed => format!("\n+{} completed, not listed here: {how_to_see}", grouped(completed)),
    }
}

/// How many files are named in one line.
const FILES_NAMED: usize = 10;

/// Returns the line that names unreadable files, beginning with a line break; empty if there are none.
pub fn unreadable_line(files: &[String]) -> String {
    let quoted = |file: &String| format!("`{}`", escaping::one_line(file));
    let named: Vec<String> = files.iter().take(FILES_NAMED).map(quoted).collect();
    let more = match files.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match files.len() {
        0 => String::new(),
        1 => format!("\n1 file could not be read: {}; run `taskyard doctor`", named[0]),
        count => format!("\n{count} files could not be read: {}{more}; run `taskyard doctor`", named.join(", ")),
    }
}

/// Cuts a text to `longest` characters, ending in `…`.
pub(super) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()),
    }
}

/// Formats the first few blockers with `print` and adds the number of others.
pub(super) fn few_blockers(ids: &[TaskId], print: impl Fn(&[TaskId]) -> String) -> String {
    match ids.split_at_checked(BLOCKERS_NAMED) {
        Some((named, more)) if !more.is_empty() => format!("{} and {} more", print(named), more.len()),
        _ => print(ids),
    }
}

/// Returns the greatest length that fits, or `None` if even `least` does not.
fn widest(least: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if !fits(least) {
        return None;
    }
    let (mut fitting, mut too_long) = (least, LONGEST);
    while too_long - fitting > 1 {
        let middle = fitting.midpoint(too_long);
        if fits(middle) {
            fitting = middle;
        } else {
            too_long = middle;
        }
    }
    Some(fitting)
}

/// Lists open tasks by id only.
fn by_number<T: ListLine>(open: &[&T]) -> String {
    let mut lines = vec![format!("{} open tasks, more than can be listed with their titles:", grouped(open.len()))];
    for status in [Status::InProgress, Status::Pending] {
        let ids: Vec<&str> = open.iter().filter(|task| task.status() == status).map(|task| task.id()).collect();
        if !ids.is_empty() {
            lines.push(format!("[{status}] {}", ranges(&ids)));
        }
    }
    lines.join("\n")
}

/// Formats ids, combining consecutive numbers into ranges.
fn ranges(ids: &[&str]) -> String {
    let mut ranges: Vec<(&str, &str)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if follows(last, id) => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let told = |(first, last): &(&str, &str)| match first == last {
        true => format!("#{first}"),
        false => format!("#{first} to #{last}"),
    };
    ranges.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn follows(before: &str, id: &str) -> bool {
    let numbers = before.parse::<u64>().ok().zip(id.parse::<u64>().ok());
    numbers.is_some_and(|(before, id)| before.checked_add(1) == Some(id))
}

fn with_short_texts(value: &Value, longest: usize) -> Value {
    match value {
        Value::String(text) => Value::String(shortened(text, longest).into_owned()),
        Value::Array(items) => items.iter().map(|item| with_short_texts(item, longest)).collect(),
        Value::Object(object) => {
            let entry = |(key, value): (&String, &Value)| (key.clone(), with_short_texts(value, longest));
            Value::Object(object.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

fn with_bare_keys(mut element: Value) -> Value {
    if let Some(object) = element.as_object_mut() {
        object.retain(|key, _| BARE_KEYS.contains(&key.as_str()));
    }
    element
}

/// Formats a number with thousands separators.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Answer, LONGEST, units};

    fn shown(text: &str) -> String {
        Answer::new(text, Value::Null).text
    }

    #[test]
    fn a_text_of_the_greatest_length_is_left_alone() {
        for text in ["x".repeat(LONGEST), "é".repeat(LONGEST), "😀".repeat(LONGEST / 2)] {
            assert_eq!(shown(&text), text);
        }
    }

    #[test]
    fn of_a_longer_text_the_middle_lines_are_left_out_and_counted() {
        let text = vec!["0123456789"; 10_000].join("\n");
        let cut = shown(&text);
        assert!(units(&cut) <= LONGEST && units(&cut) > LONGEST - 1_000, "{}", units(&cut));
        let notices: Vec<&str> = cut.lines().filter(|line| *line != "0123456789").collect();
        let kept = cut.lines().count() - 1;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with(&format!("[{} lines (", 10_000 - kept)), "{notices:?}");
        assert!(cut.starts_with("0123456789\n") && cut.ends_with("\n0123456789"));
    }

    #[test]
    fn of_a_single_line_the_beginning_and_the_end_are_kept() {
        let text = format!("first {} last", "😀".repeat(LONGEST));
        let cut = shown(&text);
        assert!(units(&cut) <= LONGEST && units(&cut) > LONGEST - 1_000, "{}", units(&cut));
        assert!(cut.starts_with("first 😀") && cut.ends_with("😀 last"));
        assert!(cut.contains("\n[1 line ("), "no notice");
    }

    #[test]
    fn a_line_break_near_the_beginning_costs_nothing_of_a_long_line() {
        let cut = shown(&format!("Title\nText: {}\nBlocks: #4", "x".repeat(150_000)));
        assert!(cut.starts_with("Title\nText: xxx") && cut.ends_with("xxx\nBlocks: #4"));
        assert!(units(&cut) > LONGEST - 1_000, "{}", units(&cut));
    }
}

#[cfg(test)]
mod fitting_tests {
    use super::{grouped, ranges, shortened};

    #[test]
    fn numbers_have_a_comma_before_every_three_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (2_900, "2,900"), (1_000_000, "1,000,000")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn ids_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&["1", "2", "3", "7", "x", "9", "10"]), "#1 to #3, #7, #x, #9 to #10");
    }

    #[test]
    fn a_text_is_shortened_between_characters_and_says_so() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größer", 5), "größ…");
    }
}
