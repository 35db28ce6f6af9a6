//! Random documents with comments, odd spaces, trailing commas and every line end.

use proptest::prelude::*;
use serde_json::{Value, json};
use taskyard_setup::config_edit::json_entries::{add, read, remove};
use taskyard_setup::config_edit::{Added, Additions, Entry};

/// A document, and the choices its writer made between all its tokens.
fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e3".to_owned()),
        Just("\"// no comment, \\\" {\"".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![Just("a"), Just("mcpServers "), Just("é")];
        prop_oneof![
            (prop::collection::vec((gap(), inner.clone(), gap()), 0..4), any::<bool>(), gap())
                .prop_map(|(items, comma, last)| items_between('[', ']', &items, comma, &last)),
            (
                prop::collection::vec(
                    (gap(), (name, inner).prop_map(|(name, value)| format!("\"{name}\": {value}")), gap()),
                    0..4
                ),
                any::<bool>(),
                gap()
            )
                .prop_map(|(items, comma, last)| items_between('{', '}', &items, comma, &last)),
        ]
    });
    let member = prop_oneof![
        value.clone().prop_map(|value| format!("\"other\": {value}")),
        (gap(), gap(), value).prop_map(|(one, two, value)| format!("\"mcpServers\":{one}{{{two}\"x\": {value}}}")),
        gap().prop_map(|gap| format!("\"mcpServers\": {{{gap}}}")),
        gap().prop_map(|gap| format!("\"hooks\": {{\"SessionStart\": [{gap}]}}")),
        Just("\"permissions\":{\"allow\":[\"a\", \"b\"]}".to_owned()),
    ];
    let object = (prop::collection::vec((gap(), member, gap()), 0..4), any::<bool>(), gap())
        .prop_map(|(items, comma, last)| items_between('{', '}', &items, comma, &last));
    let root = prop_oneof![9 => object, 1 => Just(String::new())];
    (any::<bool>(), gap(), root, gap(), any::<bool>()).prop_map(|(mark, before, root, after, windows)| {
        let text = format!("{before}{root}{after}");
        let text = if windows { text.replace('\n', "\r\n") } else { text };
        format!("{}{text}", if mark { "\u{feff}" } else { "" })
    })
}

fn items_between(open: char, close: char, items: &[(String, String, String)], comma: bool, last: &str) -> String {
    let inner: Vec<String> = items.iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
    let comma = if comma && !items.is_empty() { "," } else { "" };
    format!("{open}{}{comma}{last}{close}", inner.join(","))
}

/// What may stand between two tokens.
fn gap() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just(""), 3 => Just(" "), 3 => Just("\n"), 2 => Just("\n  "), 1 => Just("\t"), 1 => Just(" // \"c\", {\n"),
        1 => Just("/* , } */"), 1 => Just("\n\n    /* two\nlines */ "),
    ];
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

fn entries() -> [Entry; 3] {
    [
        Entry::member(&["mcpServers", "taskyard"], json!({"command": "taskyard", "args": ["mcp"]})),
        Entry::hook(&["hooks", "SessionStart"], "taskyard hook SessionStart", 10),
        Entry::word(&["permissions", "allow"], "mcp__taskyard"),
    ]
}

/// Returns what a document means without what is ours.
fn foreign(mut value: Value) -> Value {
    if let Some(servers) = value.get_mut("mcpServers").and_then(Value::as_object_mut) {
        servers.remove("taskyard");
    }
    if let Some(groups) = value.pointer_mut("/hooks/SessionStart").and_then(Value::as_array_mut) {
        groups.retain(|group| group.pointer("/hooks/0/command") != Some(&json!("taskyard hook SessionStart")));
    }
    if let Some(words) = value.pointer_mut("/permissions/allow").and_then(Value::as_array_mut) {
        words.retain(|word| word != "mcp__taskyard");
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_of_ours_goes_in_and_comes_out_again(text in document()) {
        let before = Some(read(&text).unwrap()).filter(|value| !value.is_null()).unwrap_or(json!({}));
        let mut longer = text.clone();
        let mut all = Additions::default();
        let mut made = Vec::new();
        for entry in entries() {
            let Added::Now { text, additions, existing } = add(&longer, &entry).unwrap() else { panic!("it is there already") };
            all = all.then(&additions);
            made.push((entry, existing));
            longer = text;
        }
        // Taking out what was added is the identity.
        prop_assert_eq!(all.take_out(&longer), Some(text));
        for entry in entries() {
            prop_assert_eq!(add(&longer, &entry).unwrap(), Added::AlreadyThere);
        }
        // Everything else means what it meant.
        let mut kept = foreign(read(&longer).unwrap());
        for name in ["mcpServers", "hooks", "permissions"] {
            if before.get(name).is_none() {
                kept.as_object_mut().unwrap().shift_remove(name);
            } else if let (Some(old), Some(new)) = (before[name].as_object(), kept[name].as_object_mut()) {
                new.retain(|inner, _| old.contains_key(inner));
            }
        }
        prop_assert_eq!(kept, before.clone());
        // Without knowing what was added, what is taken out is ours too.
        let mut shorter = longer;
        for (entry, existing) in made.iter().rev() {
            shorter = remove(&shorter, entry, *existing).unwrap().unwrap().0;
        }
        prop_assert_eq!(read(&shorter).unwrap(), before);
    }
}
