//! Notes: dated, signed comments on a task, in chronological order.
//!
//! The journal records every note; `metadata.notes` is the copy that travels with the task. No change overwrites notes:
//! a conflicting write is added to the existing notes.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use crate::rules::agents::is_same_agent;
use crate::task::elements;
pub use crate::task::{NOTES, Note, NoteRead, notes_of, read_note};
use crate::{Metadata, Task, Timestamp};

/// Returns the task with a note appended. A value that another program stored there in a different form is kept as the
/// first note.
#[must_use]
pub fn with_note(task: &Task, note: &Note) -> Task {
    let mut task = task.clone();
    let notes = task.metadata.get_or_insert_default().entry(NOTES).or_insert_with(|| Value::Array(Vec::new()));
    let noted = json!({ "at": note.at.to_string(), "author": note.author.as_str(), "text": note.text });
    match notes {
        Value::Array(notes) => notes.push(noted),
        empty @ Value::Null => *empty = Value::Array(vec![noted]),
        other => *other = Value::Array(vec![other.take(), noted]),
    }
    task
}

/// Returns the agents that own a task or wrote a note on it, without duplicates.
pub fn participants(task: &Task) -> Vec<&str> {
    let authors = notes_of(task).iter().filter_map(|note| read_note(note).author);
    let mut all: Vec<&str> = Vec::new();
    for name in task.owner().into_iter().chain(authors) {
        if !name.is_empty() && !all.iter().any(|known| is_same_agent(known, name)) {
            all.push(name);
        }
    }
    all
}

/// Adjusts a metadata change so that it adds to the task's notes instead of overwriting them. Only null removes them.
pub fn keep_notes(changes: &mut Metadata, task: &Task) {
    let Some(given) = changes.get_mut(NOTES).filter(|given| !given.is_null()) else { return };
    let present = notes_of(task);
    if !present.is_empty() {
        let added = without(elements(Some(given)), present);
        *given = present.iter().cloned().chain(added).collect();
    }
}

/// Merges two changes of notes that started from `before`: applies the additions and removals made in `after` to `now`.
/// Returns `None` if no notes are left.
pub(crate) fn merge_notes(before: &[Value], after: &[Value], now: &[Value]) -> Option<Value> {
    let removed: HashSet<String> = keyed(&without(before, after)).into_iter().map(|(key, _)| key).collect();
    let kept = keyed(now).into_iter().filter(|(key, _)| !removed.contains(key)).map(|(_, note)| note.clone());
    let added = without(&without(after, before), now);
    let notes: Vec<Value> = kept.chain(added).collect();
    (!notes.is_empty()).then_some(Value::Array(notes))
}

/// Returns each note with a key that does not depend on its position in the list or on how its file is formatted. The
/// second of two identical notes has a different key than the first.
pub(crate) fn keyed(notes: &[Value]) -> Vec<(String, &Value)> {
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let key = |note| {
        let hash = identity(note);
        let count = seen.entry(hash).or_default();
        *count += 1;
        (if *count == 1 { format!("{hash:016x}") } else { format!("{hash:016x}.{count}") }, note)
    };
    notes.iter().map(key).collect()
}

/// Restores lost notes (`given`) to a task and removes others (`taken`), by their keys. Each restored note is placed
/// after the note that precedes it in `found`, if that is present; among notes that `found` does not contain, it is
/// placed by date.
pub(crate) fn give_notes(task: &mut Task, given: &HashSet<String>, taken: &HashSet<String>, found: &[Value]) {
    let mut notes = keyed(notes_of(task));
    notes.retain(|(key, _)| !taken.contains(key));
    let there: HashSet<&str> = notes.iter().map(|(key, _)| key.as_str()).collect();
    let found = keyed(found);
    let mut behind: HashMap<Option<&str>, Vec<&Value>> = HashMap::new();
    let mut last = None;
    for (key, note) in &found {
        if there.contains(key.as_str()) {
            last = Some(key.as_str());
        } else if given.contains(key) {
            behind.entry(last).or_default().push(note);
        }
    }
    let known: HashSet<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    let mut all = Vec::with_capacity(notes.len() + given.len());
    let mut coming: VecDeque<&Value> = behind.remove(&None).unwrap_or_default().into();
    for (key, note) in &notes {
        let is_known = known.contains(key.as_str());
        while let Some(back) = coming.pop_front_if(|back| is_known || !is_earlier(note, back)) {
            all.push(back.clone());
        }
        all.push((*note).clone());
        coming.extend(behind.remove(&Some(key.as_str())).into_iter().flatten());
    }
    all.extend(coming.into_iter().cloned());
    if all.is_empty() {
        drop(task.metadata.as_mut().and_then(|metadata| metadata.shift_remove(NOTES)));
    } else {
        task.metadata.get_or_insert_default().insert(NOTES.to_owned(), Value::Array(all));
    }
}

/// Returns whether one note is dated before another. Returns `false` if either has no date.
fn is_earlier(one: &Value, other: &Value) -> bool {
    let made = |note| read_note(note).at.and_then(Timestamp::parse);
    matches!((made(one), made(other)), (Some(one), Some(other)) if one < other)
}

/// Returns the notes that are not in `others`, in order.
fn without(notes: &[Value], others: &[Value]) -> Vec<Value> {
    let others: HashSet<String> = keyed(others).into_iter().map(|(key, _)| key).collect();
    keyed(notes).into_iter().filter(|(key, _)| !others.contains(key)).map(|(_, note)| note.clone()).collect()
}

/// Returns the FNV-1a hash of a note's identity: date, author and text, or the whole value if it has no text.
fn identity(note: &Value) -> u64 {
    let mut hash = Fnv::new();
    match (note, note.get("text")) {
        (Value::Object(_), Some(Value::String(text))) => {
            let read = read_note(note);
            for part in [read.at.unwrap_or_default(), read.author.unwrap_or_default(), text] {
                hash.add(part.as_bytes());
                hash.add(&[0]);
            }
        }
        _ => hash.add_value(note),
    }
    hash.0
}

struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a value to the hash, independently of the order of its keys.
    fn add_value(&mut self, value: &Value) {
        match value {
            Value::Object(object) => {
                let mut keys: Vec<&String> = object.keys().collect();
                keys.sort_unstable();
                for key in keys {
                    self.add(key.as_bytes());
                    self.add(b":");
                    self.add_value(&object[key]);
                }
                self.add(b"}");
            }
            Value::Array(items) => {
                items.iter().for_each(|item| self.add_value(item));
                self.add(b"]");
            }
            other => self.add(other.to_string().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::{Note, give_notes, keep_notes, keyed, merge_notes, notes_of, participants, with_note};
    use crate::{AgentName, Task, TaskId, Timestamp};

    fn task(metadata: Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    fn note(text: &str) -> Note {
        Note { at: Timestamp(0), author: AgentName::new("ana").unwrap(), text: text.into() }
    }

    #[test]
    fn notes_are_added_and_what_others_wrote_stays() {
        let mine = json!({ "at": "1970-01-01T00:00:00.000Z", "author": "ana", "text": "late" });
        for (before, kept) in
            [(json!({}), None), (json!({ "notes": null }), None), (json!({ "notes": "by hand" }), Some("by hand"))]
        {
            let after = with_note(&task(before), &note("late"));
            let mut expected: Vec<_> = kept.map(|kept| json!(kept)).into_iter().collect();
            expected.push(mine.clone());
            assert_eq!(after.meta("notes"), Some(&json!(expected)));
        }
        let twice = with_note(&with_note(&task(json!({})), &note("one")), &note("two"));
        let texts: Vec<_> = notes_of(&twice).iter().map(|note| note["text"].clone()).collect();
        assert_eq!(texts, ["one", "two"]);
        // The order of the keys is preserved.
        let ordered = with_note(&task(json!({ "notes": [], "attempts": 1, "kind": "x" })), &note("one"));
        assert!(ordered.metadata.unwrap().keys().eq(["notes", "attempts", "kind"]));
    }

    #[test]
    fn a_note_is_known_however_its_keys_stand_and_twins_are_two() {
        let keys = |value: Value| keyed(value.as_array().unwrap()).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        let one = keys(json!([{"at": "1", "author": "ana", "text": "a"}, {"x": 1, "y": [2]}, "a", "a"]));
        let other =
            keys(json!([{"text": "a", "seen": true, "author": "ana", "at": "1"}, {"y": [2], "x": 1}, "a", "a"]));
        assert_eq!(one, other);
        assert_eq!(one.iter().collect::<HashSet<_>>().len(), 4);
    }

    #[test]
    fn metadata_change_appends_notes_and_only_null_removes_them() {
        let there = task(json!({ "notes": ["a", "b"] }));
        for (given, kept) in [
            (json!("c"), json!(["a", "b", "c"])),
            (json!([]), json!(["a", "b"])),
            (json!(["b", "d"]), json!(["a", "b", "d"])),
            (json!(null), json!(null)),
        ] {
            let mut changes = json!({ "notes": given }).as_object().cloned().unwrap();
            keep_notes(&mut changes, &there);
            assert_eq!(changes["notes"], kept);
        }
        let mut changes = json!({ "notes": "first" }).as_object().cloned().unwrap();
        keep_notes(&mut changes, &task(json!({})));
        assert_eq!(changes["notes"], json!("first"));
    }

    #[test]
    fn what_both_sides_noted_holds_and_what_one_took_away_goes() {
        let list = |value: Value| value.as_array().cloned().unwrap();
        let merged = merge_notes(&list(json!(["a", "b"])), &list(json!(["b", "c"])), &list(json!(["a", "b", "d"])));
        assert_eq!(merged, Some(json!(["b", "d", "c"])));
        assert_eq!(merge_notes(&list(json!(["a"])), &[], &list(json!(["a"]))), None);
    }

    #[test]
    fn what_comes_back_stands_where_it_stood() {
        let found = json!(["a", "b", "c"]);
        let key = |text: &str| keyed(&[json!(text)])[0].0.clone();
        let mut now = task(json!({ "notes": ["b", "d"] }));
        give_notes(&mut now, &[key("a"), key("c")].into(), &HashSet::new(), found.as_array().unwrap());
        assert_eq!(now.meta("notes"), Some(&json!(["a", "b", "c", "d"])));
        give_notes(&mut now, &HashSet::new(), &["a", "b", "c", "d"].map(key).into(), &[]);
        assert_eq!(now.meta("notes"), None);
    }

    #[test]
    fn restored_note_stands_in_order_of_its_date() {
        let dated = |text: &str, second: u8| json!({"at": format!("2026-01-01T00:00:{second:02}.000Z"), "text": text});
        let (first, second, third) = (dated("first", 1), dated("second", 2), dated("third", 3));
        let key = |note: &Value| keyed(std::slice::from_ref(note))[0].0.clone();
        // Each note was alone in the file when another program lost it, and they are restored in any order.
        for order in [[&first, &second, &third], [&second, &first, &third], [&third, &second, &first]] {
            let mut now = task(json!({}));
            for note in order {
                give_notes(&mut now, &[key(note)].into(), &HashSet::new(), std::slice::from_ref(note));
            }
            assert_eq!(now.meta("notes"), Some(&json!([first, second, third])));
        }
        // If both notes were seen in one file, the order in that file takes precedence over their dates.
        let mut now = task(json!({ "notes": [first] }));
        give_notes(&mut now, &[key(&third)].into(), &HashSet::new(), &[third.clone(), first.clone()]);
        assert_eq!(now.meta("notes"), Some(&json!([third, first])));
    }

    #[test]
    fn owner_and_authors_take_part_each_once() {
        let mut task =
            task(json!({ "notes": [{"author": "ben", "text": "a"}, "b", {"author": "ana@alpha", "text": "c"}] }));
        task.owner = Some("ana".into());
        assert_eq!(participants(&task), ["ana", "ben"]);
    }
}
