//! Error codes: what the program can say is written down, and nothing else is.

use std::collections::BTreeSet;
use std::fs;

use crate::documents::page::{root, sources};

/// Returns the error codes of our programs.
fn codes_in(source: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for call in ["Problem::new(", "Self::new(", "Problem::usage(", "Self::usage("] {
        for rest in source.split(call).skip(1) {
            let rest = rest.trim_start();
            let rest = if call.ends_with("new(") {
                // Its kind comes first.
                let Some(rest) = rest.strip_prefix("ProblemKind::").and_then(|rest| rest.split_once(',')) else {
                    continue;
                };
                rest.1.trim_start()
            } else {
                rest
            };
            let Some((code, _)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) else { continue };
            if code.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_') {
                codes.insert(code.to_owned());
            }
        }
    }
    codes
}

#[test]
fn every_error_code_is_written_down_and_no_other() {
    let sources: String = sources().iter().map(|path| fs::read_to_string(root().join(path)).unwrap()).collect();
    let codes = codes_in(&sources);
    assert!(codes.len() > 100, "only {} were found", codes.len());

    let page = fs::read_to_string(root().join("docs/formats/json-output.md")).unwrap();
    let table = page.split("## Errors").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    // The code stands in the second column; brackets there explain.
    let of_row = |row: &str| -> Vec<String> {
        let column = row.split('|').nth(2).unwrap_or_default();
        let mut depth = 0;
        let plain: String = column
            .chars()
            .filter(|letter| {
                depth += match letter {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            })
            .collect();
        plain.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let written: BTreeSet<String> = rows.flat_map(of_row).collect();
    let missing: Vec<_> = codes.difference(&written).collect();
    assert!(missing.is_empty(), "docs/formats/json-output.md does not tell of {missing:?}");
    let is_said = |code: &&String| sources.contains(&format!("\"{code}\""));
    let idle: Vec<_> = written.difference(&codes).filter(|code| !is_said(code)).collect();
    assert!(idle.is_empty(), "docs/formats/json-output.md tells of {idle:?}, which nothing says");
}
