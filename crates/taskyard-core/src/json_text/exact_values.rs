//! JSON values that keep lone surrogates and the spelling of numbers.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use super::has_lone_surrogates;
use super::lone_surrogates::{ESCAPE, code_unit, lone_surrogates};
use crate::json_text::lone_surrogates::{odd_numbers, shown_number};

/// How to print numbers whose value is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// As they were written.
    AsWritten,
    /// In the printer's spelling.
    AsPrinted,
}

const MARK: char = '\u{fdd0}';
const MARK_ITSELF: &str = "\u{fdd0}fdd0";
const MARK_NUMBER: &str = "\u{fdd0}num:";
const DIGITS: usize = 4;

/// Parses JSON into a value with exact strings, and with exact numbers if they are to be kept.
pub(super) fn parse(json: &[u8], numbers: Numbers) -> Result<Value, serde_json::Error> {
    let mut exact: Vec<u8> = Vec::with_capacity(json.len());
    let mut halves = lone_surrogates(json).peekable();
    let mut odd = odd_numbers(json).take_while(|_| numbers == Numbers::AsWritten).peekable();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        if let Some(range) = odd.next_if(|range| range.start == at) {
            exact.extend([b"\"", MARK_NUMBER.as_bytes(), &json[range.clone()], b"\""].concat());
            at = range.end;
        } else if halves.next_if_eq(&at).is_some() {
            exact.extend(MARK.to_string().bytes().chain(json[at + 2..at + ESCAPE].iter().copied()));
            at += ESCAPE;
        } else if *byte == b'\\' && code_unit(json, at) == Some(MARK as u16) {
            exact.extend_from_slice(MARK_ITSELF.as_bytes());
            at += ESCAPE;
        } else if json[at..].starts_with(MARK.to_string().as_bytes()) {
            exact.extend_from_slice(MARK_ITSELF.as_bytes());
            at += MARK.len_utf8();
        } else {
            // A backslash escapes the next byte.
            let end = json.len().min(at + if *byte == b'\\' { 2 } else { 1 });
            exact.extend_from_slice(&json[at..end]);
            at = end;
        }
    }
    serde_json::from_slice(&exact)
}

/// Makes the strings of a value exact that were read with U+FFFD in place of lone surrogates.
pub(super) fn exact(value: &Value) -> Value {
    mapped(value, &|text| Value::String(text.replace(MARK, MARK_ITSELF)))
}

/// Returns a value in its displayed form, with U+FFFD in place of lone surrogates and parsed numbers.
pub(super) fn shown(value: &Value) -> Value {
    mapped(value, &|text| match text.strip_prefix(MARK_NUMBER) {
        Some(number) => shown_number(number),
        None => Value::String(shown_text(text).into_owned()),
    })
}

/// Returns a string in its displayed form.
pub(super) fn shown_text(text: &str) -> Cow<'_, str> {
    replaced(text, |digits| match digits {
        "fdd0" => MARK.to_string(),
        _ => char::REPLACEMENT_CHARACTER.to_string(),
    })
}

/// Returns the JSON text of an exact value, given its printed form.
pub(super) fn print(printed: &str) -> String {
    let escaped = |digits: &str| match digits {
        "fdd0" => MARK.to_string(),
        digits => format!("\\u{digits}"),
    };
    replaced(&without_number_marks(printed), escaped).into_owned()
}

/// Removes the marks and quotes of exact numbers.
fn without_number_marks(printed: &str) -> Cow<'_, str> {
    let mark = format!("\"{MARK_NUMBER}");
    if !printed.contains(&mark) {
        return Cow::Borrowed(printed);
    }
    let mut pieces = printed.split(&mark);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        whole.extend([number, rest]);
    }
    Cow::Owned(whole)
}

fn replaced(text: &str, by: impl Fn(&str) -> String) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(MARK);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(DIGITS).unwrap_or(("fdd0", piece));
        whole.push_str(&by(digits));
        whole.push_str(rest);
    }
    Cow::Owned(whole)
}

fn mapped(value: &Value, map: &impl Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => map(text),
        Value::Array(items) => Value::Array(items.iter().map(|item| mapped(item, map)).collect()),
        Value::Object(object) => Value::Object(mapped_object(object, map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn mapped_object(object: &Map<String, Value>, map: &impl Fn(&str) -> Value) -> Map<String, Value> {
    let key = |key: &str| map(key).as_str().unwrap_or(key).to_owned();
    object.iter().map(|(name, value)| (key(name), mapped(value, map))).collect()
}

/// The maximum number of comparisons made to match the entries of one array.
const MANY: usize = 250_000;

/// Prints a value over the JSON text that it was read from: wherever the value is unchanged, lone surrogates and the
/// spelling of numbers are restored. If that text has neither, or there is none, the value is simply printed.
pub(crate) fn print_over(over: Option<&[u8]>, value: &Value, printer: impl FnOnce(&Value) -> String) -> String {
    let over = over.filter(|json| is_more_than_read(json));
    print_exactly(over, value, Numbers::AsWritten, printer)
}

/// Prints a value as [`print_over`] does, but with numbers as JavaScript prints them.
pub(crate) fn print_over_as_javascript(
    over: Option<&[u8]>,
    value: &Value,
    printer: impl FnOnce(&Value) -> String,
) -> String {
    let over = over.filter(|json| has_lone_surrogates(json));
    print_exactly(over, value, Numbers::AsPrinted, printer)
}

/// Returns whether parsing a JSON text loses something: a lone surrogate, or the spelling of a number.
pub(crate) fn is_more_than_read(json: &[u8]) -> bool {
    has_lone_surrogates(json) || odd_numbers(json).next().is_some()
}

fn print_exactly(
    over: Option<&[u8]>,
    value: &Value,
    numbers: Numbers,
    printer: impl FnOnce(&Value) -> String,
) -> String {
    match over.and_then(|json| parse(json, numbers).ok()) {
        Some(before) => print(&printer(&kept(&before, exact(value)))),
        None => printer(value),
    }
}

/// Returns the later of two exact values, with the earlier one's exact form wherever both are displayed the same.
fn kept(before: &Value, after: Value) -> Value {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => Value::Object(kept_object(before, after)),
        (Value::Array(before), Value::Array(after)) => Value::Array(kept_array(before, after)),
        (before @ Value::String(_), after) if shown(before) == shown(&after) => before.clone(),
        (_, after) => after,
    }
}

fn kept_object(before: &Map<String, Value>, after: Map<String, Value>) -> Map<String, Value> {
    let mut named: HashMap<String, Vec<(&String, &Value)>> = HashMap::new();
    for (key, value) in before {
        named.entry(shown_text(key).into_owned()).or_default().push((key, value));
    }
    let mut kept_object = Map::with_capacity(after.len());
    for (key, value) in after {
        // Several keys may be shown the same. A program that read them saw the value of the last, and knows nothing of
        // the others.
        match named.remove(&*shown_text(&key)).unwrap_or_default().split_last() {
            None => drop(kept_object.insert(key, value)),
            Some(((last, was), others)) => {
                kept_object.extend(others.iter().map(|(key, value)| ((*key).clone(), (*value).clone())));
                kept_object.insert((*last).clone(), kept(was, value));
            }
        }
    }
    kept_object
}

fn kept_array(before: &[Value], after: Vec<Value>) -> Vec<Value> {
    let mut unchanged: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (place, value) in before.iter().enumerate() {
        unchanged.entry(shown(value).to_string()).or_default().push_back(place);
    }
    let mut origins: Vec<Option<usize>> =
        after.iter().map(|value| unchanged.get_mut(&shown(value).to_string())?.pop_front()).collect();
    let mut left: Vec<usize> = unchanged.into_values().flatten().collect();
    left.sort_unstable();
    let changed = origins.iter().filter(|origin| origin.is_none()).count();
    if left.len().saturating_mul(changed) <= MANY {
        for (place, origin) in origins.iter_mut().enumerate().filter(|(_, origin)| origin.is_none()) {
            *origin = take_most_alike(before, &mut left, &after[place]);
        }
    }
    let with_origin = after.into_iter().zip(origins);
    with_origin.map(|(value, origin)| origin.map_or(value.clone(), |place| kept(&before[place], value))).collect()
}

/// Removes and returns the index of the entry that shares most with another, at least half of it.
fn take_most_alike(before: &[Value], left: &mut Vec<usize>, after: &Value) -> Option<usize> {
    let after = after.as_object()?;
    let alike = |place: &usize| {
        let object = before[*place].as_object()?;
        let same =
            object.iter().filter(|(key, value)| after.get(*key).is_some_and(|other| shown(value) == shown(other)));
        let count = same.count();
        (count * 2 >= object.len().min(after.len())).then_some(count)
    };
    let ranked = left.iter().enumerate().filter_map(|(at, place)| Some((alike(place)?, at)));
    let (_, at) = ranked.rev().max_by_key(|(count, _)| *count)?;
    Some(left.remove(at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, proptest};
    use serde_json::{Value, json};

    use super::{Numbers, exact, parse, print, shown};
    use crate::json_text::from_str;

    #[test]
    fn what_is_parsed_exactly_is_printed_as_it_was() {
        for text in [
            r#""Fix \ud83d""#,
            r#""\udE00 \uD83D""#,
            "\"\u{fdd0}d83d \\ud83d\"",
            "{\"\\udfff\":[\"\u{fdd0}\u{fdd0}fdd0\"]}",
            r#"["\\ud83d","\\\ud83d",1.50,null]"#,
            r#"{"a":1e400,"b":[-0,1.0,12345678901234567890123,0.10],"c":"1.50"}"#,
            "[\"\u{fdd0}num:1.50\",1.50]",
        ] {
            let value = parse(text.as_bytes(), Numbers::AsWritten).unwrap();
            assert_eq!(print(&value.to_string()), text);
            assert_eq!(shown(&value), from_str::<Value>(text).unwrap(), "{text}");
        }
        assert_eq!(parse(br#""\ufdd0\uFDD0""#, Numbers::AsPrinted).unwrap(), exact(&json!("\u{fdd0}\u{fdd0}")));
    }

    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let pool = [
            "\\ud83d", "\\ude00", "\\uD800", "\\ufdd0", "\u{fdd0}", "fdd0", "d83d", "\\\\", "\\n", "é", "\u{fffd}", "u",
        ];
        prop::collection::vec(prop::sample::select(pool.to_vec()), 0..12)
    }

    proptest! {
        #[test]
        fn reading_and_the_exact_form_agree_on_every_text(pieces in pieces()) {
            let text = format!("\"{}\"", pieces.concat());
            let value = parse(text.as_bytes(), Numbers::AsWritten).unwrap();
            assert_eq!(shown(&value), from_str::<Value>(&text).unwrap());
            let again = print(&value.to_string());
            assert_eq!(parse(again.as_bytes(), Numbers::AsWritten).unwrap(), value, "{}", again);
            let read: Value = from_str(&text).unwrap();
            assert_eq!(shown(&exact(&read)), read);
        }
    }
}

#[cfg(test)]
mod keeping_tests {
    use serde_json::{Value, json};

    use super::{print_over, print_over_as_javascript};
    use crate::json_text::from_str;

    /// Parses a text, changes the value, and prints it over the text.
    fn changed(over: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut value: Value = from_str(over).unwrap();
        change(&mut value);
        print_over(Some(over.as_bytes()), &value, Value::to_string)
    }

    #[test]
    fn halves_stay_in_what_does_not_change_and_go_with_what_does() {
        let over = r#"{"a":"\ud83d","b":{"\udc00":["\uD800x",1.50]},"c":"\ud83d"}"#;
        assert_eq!(changed(over, |_| {}), over);
        assert_eq!(changed(over, |value| value["c"] = json!("new")), over.replace(r#""c":"\ud83d""#, r#""c":"new""#));
        assert_eq!(
            changed(over, |value| value["d"] = json!("\u{fdd0}d83d")),
            over.replace(r#"ud83d"}"#, "ud83d\",\"d\":\"\u{fdd0}d83d\"}")
        );
    }

    #[test]
    fn numbers_stay_as_they_were_written_until_they_change() {
        let over = r#"{"a":1.50,"b":{"c":[1e3,12345678901234567890123,1e400,-0]},"d":7.00}"#;
        assert_eq!(changed(over, |_| {}), over);
        assert_eq!(changed(over, |value| value["a"] = json!(1.5)), over);
        assert_eq!(changed(over, |value| value["d"] = json!(7.25)), over.replace("7.00", "7.25"));
        assert_eq!(changed(over, |value| value["b"]["c"][2] = json!(2)), over.replace("1e400", "2"));
        let javascript = print_over_as_javascript(Some(over.as_bytes()), &from_str(over).unwrap(), Value::to_string);
        assert!(javascript.contains("\"a\":1.5,"), "{javascript}");
    }

    #[test]
    fn the_order_of_what_is_printed_counts() {
        let over = br#"{"a":"\ud83d","b":1}"#;
        let value = json!({ "b": 1, "a": "\u{fffd}" });
        assert_eq!(print_over(Some(over), &value, Value::to_string), r#"{"b":1,"a":"\ud83d"}"#);
    }

    #[test]
    fn keys_that_are_shown_the_same_are_all_kept() {
        let over = r#"{"\ud83d":1,"\ud83e":2,"x":3}"#;
        assert_eq!(changed(over, |value| value["x"] = json!(4)), over.replace(":3}", ":4}"));
        assert_eq!(changed(over, |value| value["\u{fffd}"] = json!(7)), r#"{"\ud83d":1,"\ud83e":7,"x":3}"#);
        assert_eq!(changed(over, |value| drop(value.as_object_mut().unwrap().shift_remove("\u{fffd}"))), r#"{"x":3}"#);
    }

    #[test]
    fn entries_of_an_array_are_found_again_when_others_come_and_go() {
        let over = r#"["\ud83d","b","\udc00"]"#;
        let removed = changed(over, |value| drop(value.as_array_mut().unwrap().remove(1)));
        assert_eq!(removed, r#"["\ud83d","\udc00"]"#);
        let tasks = r#"[{"id":"1","t":"\ud83d","n":1},{"id":"2","t":"\ud83e","n":1}]"#;
        let moved = changed(tasks, |value| {
            value.as_array_mut().unwrap().remove(0);
            value[0]["n"] = json!(2);
            value.as_array_mut().unwrap().push(json!({ "id": "3", "t": "\u{fffd}", "n": 9 }));
        });
        assert_eq!(moved, "[{\"id\":\"2\",\"t\":\"\\ud83e\",\"n\":2},{\"id\":\"3\",\"t\":\"\u{fffd}\",\"n\":9}]");
    }

    #[test]
    fn what_holds_no_half_is_just_printed() {
        let value = json!({ "a": "\u{fffd}\u{fdd0}fdd0" });
        for over in [None, Some(&b"{\"a\":1}"[..]), Some(b"\"\\ud83d"), Some(b"[\"\\ud83d\"]")] {
            assert_eq!(print_over(over, &value, Value::to_string), value.to_string());
        }
    }
}
