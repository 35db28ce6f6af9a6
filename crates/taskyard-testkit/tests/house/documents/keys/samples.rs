//! JSON that stands in pages as a sample: every key in it is one that a source of ours reads or writes.

use std::collections::BTreeSet;
use std::fs;

use crate::documents::page::{Page, files, root};

/// Keys that are data.
const IDS: [&str; 1] = ["task_1738950000_a1b2"];

/// Returns the keys of JSON in a text: words in quotes before a colon.
fn keys_in(text: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = text.split('"').collect();
    let is_key =
        |key: &str| !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let pairs: Vec<&str> = parts
        .windows(2)
        .skip(1)
        .step_by(2)
        .filter(|pair| pair[1].trim_start().starts_with(':') && is_key(pair[0]))
        .map(|pair| pair[0])
        .collect();
    pairs.into_iter()
}

/// Returns the words that sources write in quotes, and the names of their fields as JSON has them.
fn words_of_sources() -> BTreeSet<String> {
    let mut paths = Vec::new();
    files(&root().join("crates"), ".rs", &mut paths);
    files(&root().join("crates"), ".sql", &mut paths);
    let mut words = BTreeSet::new();
    for path in paths.iter().filter(|path| path.contains("/src/")) {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        words.extend(text.split('"').filter(is_word).map(str::to_owned));
        for line in text.lines() {
            let field = line
                .trim_start()
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub ");
            if let Some((name, _)) = field.split_once(": ").filter(|(name, _)| is_word(name)) {
                words.insert(name.to_owned());
                words.insert(camel(name));
            }
        }
    }
    words
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut word = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (first, rest) = part.split_at(part.len().min(1));
        word.push_str(&first.to_ascii_uppercase());
        word.push_str(rest);
    }
    word
}

#[test]
fn every_key_of_a_sample_is_one_that_a_source_knows() {
    let words = words_of_sources();
    let (mut count, mut faults) = (0, BTreeSet::new());
    for page in Page::all() {
        for key in page.text.lines().flat_map(keys_in) {
            count += 1;
            if !words.contains(key) && !IDS.contains(&key) {
                faults.insert(format!("{}: \"{key}\"", page.path));
            }
        }
    }
    assert!(count > 150, "only {count} were found");
    assert!(faults.is_empty(), "nothing knows\n{}", faults.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn keys_are_told_from_texts() {
    assert_eq!(keys_in(r#"{"a": "b", "c":["d"], "e": {"f": 1}}"#).collect::<Vec<_>>(), ["a", "c", "e", "f"]);
}
