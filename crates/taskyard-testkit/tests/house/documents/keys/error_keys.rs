//! Keys of errors. Not every error can be brought about in a test, so these are held against the sources, where a problem is given its details.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::answers::Answer;
use crate::documents::page::{root, sources};

/// Returns the codes of a row of the page's table with the keys it gives them.
fn rows() -> Vec<(BTreeSet<String>, BTreeSet<String>)> {
    let page = fs::read_to_string(root().join("docs/formats/json-output.md")).unwrap();
    let table = page.split("## Errors").nth(1).unwrap();
    let spans = |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.split('|').collect::<Vec<_>>()).map(|cells| (spans(cells[2]), spans(cells[3]))).collect()
}

/// Returns the keys that sources give to problems: `.detail("key", ..)`.
fn details() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for path in sources() {
        let text = fs::read_to_string(root().join(path)).unwrap();
        for rest in text.split("detail(").skip(1) {
            let key = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
            keys.extend(key.map(|(key, _)| key.to_owned()));
        }
    }
    keys
}

#[test]
fn every_key_of_an_error_is_written_down_and_no_other() {
    let details = details();
    assert!(details.len() > 25, "only {details:?} were found");
    let written: BTreeSet<String> = rows().into_iter().flat_map(|(_, keys)| keys).collect();
    let missing: Vec<_> = details.difference(&written).collect();
    assert!(missing.is_empty(), "docs/formats/json-output.md does not tell of {missing:?}");
    let idle: Vec<_> = written.difference(&details).collect();
    assert!(idle.is_empty(), "docs/formats/json-output.md tells of {idle:?}, which no problem is given");
}

#[test]
fn errors_have_only_documented_keys_for_their_code() {
    let rows = rows();
    let mut faults = BTreeSet::new();
    let mut count = 0;
    for answer in Answer::all() {
        let Some(error) = answer.value.get("error").and_then(Value::as_object) else { continue };
        // What was emptied has no code.
        let Some(code) = error["code"].as_str() else { continue };
        count += 1;
        let allowed: BTreeSet<&str> = rows
            .iter()
            .filter(|(codes, _)| codes.is_empty() || codes.contains(code))
            .flat_map(|(_, keys)| keys.iter().map(String::as_str))
            .collect();
        let known = ["code", "message", "hint"];
        let unknown = error.keys().filter(|key| !known.contains(&key.as_str()) && !allowed.contains(key.as_str()));
        faults.extend(unknown.map(|key| format!("`{code}` has `{key}`: {}", answer.line)));
    }
    assert!(count > 50, "only {count} errors were found");
    assert!(
        faults.is_empty(),
        "docs/formats/json-output.md does not say\n{}",
        faults.into_iter().collect::<Vec<_>>().join("\n")
    );
}
