//! Blocks of every kind of YAML: one fact changes, and every byte that is not its own stays.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use taskyard_core::dialect::macf::{Block, change_facts};
use taskyard_core::{Task, TaskId};

const KEYS: [&str; 6] = ["agent", "updates", "created_cycle", "parent_id", "report", "custom"];

/// A fact as it is written: the text behind its key, its last line without an end.
fn written() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        Just("plain words"),
        Just("42"),
        Just("1.50"),
        Just("'it''s: quoted # no comment'"),
        Just("\"\\u00e9 \\\"x\\\" # no\""),
        Just("null"),
        Just("~"),
        Just(""),
        Just("s_1/c_2/g_3"),
        Just("é plain"),
        Just("2026-11-16"),
        Just("yes"),
        Just("{agent: PA, b: [1, 'x']}"),
        Just("[agent, \"a: b\", {c: 1}]"),
        Just("first\n  second line\n  third"),
        Just("'quoted\n\n  on lines'"),
    ];
    let below = prop_oneof![
        Just(" |\n  agent: nobody\n\n  # no comment\n   deeper"),
        Just(" |-\n  one"),
        Just(" >\n  folded\n  text\n\n  agent: x"),
        Just(" |2\n   indented"),
        Just("\n- breadcrumb: s_1\n  agent: SA\n  # within\n  description: \"a: b\"\n- breadcrumb: s_2"),
        Just("\n  - x\n  -\n    - agent: y"),
        Just("\n  agent: nested\n  parent_id: 5\n  updates:\n    agent: deep"),
        Just(" # about it\n  created_cycle: 1"),
        Just("\n  report: |\n    text\n  agent: z"),
        Just(" [a,\n  b,\n  agent]"),
    ];
    let comment = prop_oneof![2 => Just(""), 1 => Just(" # a remark: x")];
    prop_oneof![
        3 => (words, comment).prop_map(|(words, comment)| {
            let comment = if words.contains('\n') { "" } else { comment };
            if words.is_empty() { comment.to_owned() } else { format!(" {words}{comment}") }
        }),
        2 => below.prop_map(str::to_owned),
    ]
}

fn between() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => Just("# agent: a comment\n"), 1 => Just("\n"), 1 => Just("# x\n\n")]
}

/// The facts of a block and what stands before each, in lines.
#[derive(Clone, Debug)]
struct Lines {
    facts: Vec<(&'static str, String, &'static str)>,
    crosses: bool,
}

fn lines() -> impl Strategy<Value = Lines> {
    let keys = Just(KEYS.to_vec()).prop_shuffle();
    let facts = prop::collection::vec((written(), between()), 1..=KEYS.len());
    (keys, facts, any::<bool>()).prop_map(|(keys, facts, crosses)| {
        let facts = keys.into_iter().zip(facts).map(|(key, (written, between))| (key, written, between));
        Lines { facts: facts.collect(), crosses }
    })
}

impl Lines {
    /// Returns the description, and where the lines of each fact stand.
    fn description(&self) -> (String, Vec<std::ops::Range<usize>>) {
        let mut text = "Prose, agent: none.\n\n<macf_task_metadata version=\"1.0\">\n".to_owned();
        let mut places = Vec::new();
        for (key, written, between) in &self.facts {
            text.push_str(between);
            let start = text.len();
            text.push_str(&format!("{key}:{written}\n"));
            places.push(start..text.len());
        }
        text.push_str("</macf_task_metadata>\nagent: more prose");
        if !self.crosses {
            return (text, places);
        }
        let crossed = |end: usize| end + text[..end].matches('\n').count();
        let places = places.into_iter().map(|place| crossed(place.start)..crossed(place.end)).collect();
        (text.replace('\n', "\r\n"), places)
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "[a-z:# '\"\\\\\n\té\u{85}\u{2028}<>/&*!|%@`-]{0,8}",
        Just("</macf_task_metadata>".to_owned()),
        Just("no".to_owned()),
        Just("1.0".to_owned()),
        Just("x".repeat(2000)),
    ];
    prop_oneof![
        4 => text.prop_map(Value::String),
        1 => (0_u32..100).prop_map(Value::from),
        1 => Just(json!(true)),
        1 => Just(json!(["x", {"agent": "a: b"}, null])),
        1 => Just(json!({"agent": [1, 2.5], "b": "c\nd"})),
    ]
}

fn facts(description: &str) -> Vec<(String, Value)> {
    let facts = Block::find(description).unwrap().facts().unwrap();
    facts.into_iter().map(|fact| (fact.key, fact.value)).collect()
}

/// Changes one fact as an update does.
fn changed(description: &str, key: &str, value: &Value) -> String {
    let task = Task { description: description.to_owned(), ..Task::new(TaskId::number(7), "x") };
    let mut changes: Map<String, Value> = Map::from_iter([(key.to_owned(), value.clone())]);
    let changed = change_facts(description, &task, &mut changes);
    assert_eq!((changed.left, changes), (None, Map::new()), "{description}");
    changed.description.unwrap_or_else(|| description.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_update_changes_the_lines_of_its_fact_and_nothing_else(lines in lines(), place in 0_usize..6, value in value()) {
        let (before, places) = lines.description();
        let place = place % places.len();
        let key = lines.facts[place].0;
        prop_assume!(key != "parent_id" || !(value.is_array() || value.is_object()));
        let after = changed(&before, key, &value);
        let own = &places[place];
        prop_assert!(after.starts_with(&before[..own.start]), "{before}\n---\n{after}");
        prop_assert!(after.ends_with(&before[own.end..]), "{before}\n---\n{after}");
        let mut expected = facts(&before);
        let found = facts(&after);
        if key == "parent_id" {
            // A parent is an id, however it is written.
            expected[place].1 = found[place].1.clone();
        } else {
            expected[place].1 = value;
        }
        prop_assert_eq!(found, expected, "{}\n---\n{}", before, after);
    }

    #[test]
    fn what_is_taken_away_are_its_lines(lines in lines(), place in 0_usize..6) {
        let (before, places) = lines.description();
        let place = place % places.len();
        let own = &places[place];
        let after = changed(&before, lines.facts[place].0, &Value::Null);
        prop_assert_eq!(after, format!("{}{}", &before[..own.start], &before[own.end..]));
    }

    #[test]
    fn what_is_added_comes_last(lines in lines(), value in value()) {
        let (before, places) = lines.description();
        let after = Block::set(&before, "new_fact", &value).unwrap();
        let end = before.find("</macf_task_metadata>").unwrap();
        prop_assert!(end >= places.last().unwrap().end);
        prop_assert!(after.starts_with(&before[..end]) && after.ends_with(&before[end..]), "{before}\n---\n{after}");
        let mut expected = facts(&before);
        expected.push(("new_fact".to_owned(), value));
        prop_assert_eq!(facts(&after), expected, "{}\n---\n{}", before, after);
    }

    #[test]
    fn no_text_makes_the_reading_of_a_block_fail_badly(text in "[a-c:\\- \n\t'\"{}\\[\\],&*!|>#%@é\r?]{0,60}") {
        let description = format!("<macf_task_metadata>\n{text}\n</macf_task_metadata>");
        let Some(block) = Block::find(&description) else { return Ok(()) };
        let Ok(before) = block.facts() else {
            prop_assert!(Block::set(&description, "new", &json!(1)).is_err());
            return Ok(());
        };
        if let Ok(after) = Block::set(&description, "new", &json!(1)) {
            let kept: Vec<_> = facts(&after).into_iter().filter(|(key, _)| key != "new").collect();
            let before: Vec<_> = before.into_iter().map(|fact| (fact.key, fact.value)).collect();
            prop_assert_eq!(kept, before.into_iter().filter(|(key, _)| key != "new").collect::<Vec<_>>());
        }
    }
}
