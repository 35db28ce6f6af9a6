//! Lists of tasks that are longer than an answer may be: every open task stays, the completed are counted.
//!
//! How one task is written stands with its tool.

use std::borrow::Cow;

use serde_json::Value;

use super::answer::{LONGEST, units};
use crate::render::escaping;
use crate::{Status, TaskId};

/// A task as one line of a list.
pub(super) trait ListLine {
    /// Returns the id the task is shown with.
    fn id(&self) -> &str;

    /// Returns where in its life the task is.
    fn status(&self) -> Status;

    /// Returns the line in full.
    fn whole(&self) -> String;

    /// Returns the line with none of its texts longer than so many characters, and few of its blockers.
    fn shortened(&self, longest: usize) -> String;
}

/// So many blockers of a task are named in a shortened line.
const BLOCKERS_NAMED: usize = 3;
/// Texts are not cut to fewer characters than these; where that is not enough, lists have numbers alone.
const NARROWEST_LINE: usize = 12;
/// Ids are shorter than this in every dialect, so they stay whole.
const NARROWEST_ELEMENT: usize = 48;
/// The keys that are left of an element where shorter texts are not enough.
const BARE_KEYS: [&str; 4] = ["id", "subject", "description", "status"];

/// Returns one line for each task, and `last` after them. If that is too long for an answer, the open tasks alone, in full or shortened
/// so that all of them fit, then how many are completed and `how_to_see` those.
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

/// Returns elements of JSON as `print` writes them, their texts shortened until that has no more than so many characters.
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

/// Returns the line that stands for the completed tasks, with the line break before it; nothing where there are none.
pub(super) fn folded(completed: usize, how_to_see: &str) -> String {
    match completed {
        0 => String::new(),
        completed => format!("\n+{} completed, not listed here: {how_to_see}", grouped(completed)),
    }
}

/// The most files that are named in one line.
const FILES_NAMED: usize = 10;

/// Returns the line that names files that could not be read, with the line break before it; nothing if there are none.
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

/// Returns a text that ends with `…` where it has more than so many characters.
pub(super) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()),
    }
}

/// Returns blockers as `print` writes them: the first few, and how many more there are.
pub(super) fn few_blockers(ids: &[TaskId], print: impl Fn(&[TaskId]) -> String) -> String {
    match ids.split_at_checked(BLOCKERS_NAMED) {
        Some((named, more)) if !more.is_empty() => format!("{} and {} more", print(named), more.len()),
        _ => print(ids),
    }
}

/// Returns the greatest length at which something fits; none where not even the least does.
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

/// Returns open tasks by their numbers alone.
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

/// Returns ids, those that follow each other as a range.
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

/// Returns a number with a comma before every three digits.
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
