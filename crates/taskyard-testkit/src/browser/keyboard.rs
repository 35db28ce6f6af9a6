//! Keys, as people name them, and as the standard does.

use serde_json::{Value, json};

/// The keys that have names and no characters.
const NAMED: [(&str, char); 18] = [
    ("Enter", '\u{e007}'),
    ("Escape", '\u{e00c}'),
    ("Tab", '\u{e004}'),
    ("Backspace", '\u{e003}'),
    ("Delete", '\u{e017}'),
    ("Space", ' '),
    ("ArrowLeft", '\u{e012}'),
    ("ArrowUp", '\u{e013}'),
    ("ArrowRight", '\u{e014}'),
    ("ArrowDown", '\u{e015}'),
    ("PageUp", '\u{e00e}'),
    ("PageDown", '\u{e00f}'),
    ("Home", '\u{e011}'),
    ("End", '\u{e010}'),
    ("Shift", '\u{e008}'),
    ("Control", '\u{e009}'),
    ("Alt", '\u{e00a}'),
    ("Meta", '\u{e03d}'),
];

/// Returns the actions that press keys together and let go of them again: `Control+k`.
pub(super) fn press(keys: &str) -> Value {
    // A plus sign on its own is a key, too.
    let keys: Vec<char> = match keys {
        "+" => vec!['+'],
        keys => keys.split('+').map(key).collect(),
    };
    let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key }));
    let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
    source(down.chain(up).collect())
}

/// Returns the actions that type a text, one key after the other.
pub(super) fn type_text(text: &str) -> Value {
    let strokes =
        text.chars().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() })));
    source(strokes.collect())
}

fn source(actions: Vec<Value>) -> Value {
    json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] })
}

fn key(name: &str) -> char {
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, key)| *key);
    let mut characters = name.chars();
    let single = characters.next().filter(|_| characters.next().is_none());
    named.or(single).unwrap_or_else(|| panic!("`{name}` is no key"))
}
