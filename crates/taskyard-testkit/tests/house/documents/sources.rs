//! Source files that the documents name.

use std::fs;

use crate::documents::page::{Page, files, root};

/// What `docs/design/threats.md` calls the folders of tests.
const SHORT: [(&str, &str); 3] =
    [("lib/", "taskyard/tests/"), ("cli/", "taskyard-cli/tests/"), ("kit/", "taskyard-testkit/tests/")];

/// Tells whether a text is the name of a source file.
fn is_source(text: &str) -> bool {
    text.ends_with(".rs") && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "./_-".contains(letter))
}

#[test]
fn every_source_file_that_a_document_names_is_there() {
    let mut sources = Vec::new();
    files(&root().join("crates"), ".rs", &mut sources);
    files(&root().join("bench"), ".rs", &mut sources);
    let mut missing = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        for named in page.spans().filter(|span| is_source(span)) {
            count += 1;
            let full = SHORT.iter().find_map(|(short, full)| Some(format!("{full}{}", named.strip_prefix(short)?)));
            let ends = [Some(named.to_owned()), full].into_iter().flatten().map(|name| format!("/{name}"));
            if !ends.into_iter().any(|end| sources.iter().any(|source| format!("/{source}").ends_with(&end))) {
                missing.push(format!("{}: {named}", page.path));
            }
        }
    }
    assert!(count > 200, "only {count} names were found");
    assert!(missing.is_empty(), "these are named, and not there:\n{}", missing.join("\n"));
}

/// CONTRIBUTING names the file that answers a question, and behind it the function.
#[test]
fn newcomer_questions_are_answered_by_the_named_files() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let table = page.split("## Where is it?").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 10, "a newcomer asks more than {} questions", rows.len());
    for row in rows {
        let answer: Vec<&str> = row.split('|').nth(2).unwrap().split('`').skip(1).step_by(2).collect();
        let (paths, functions): (Vec<&str>, Vec<&str>) = answer.into_iter().partition(|span| is_source(span));
        let sources: String = paths.iter().map(|path| fs::read_to_string(root().join(path)).unwrap()).collect();
        for function in functions {
            assert!(sources.contains(&format!("fn {function}")), "`{function}` is not in {paths:?}");
        }
    }
}

#[test]
fn names_are_found_between_backquotes() {
    let text = "see `store/mod.rs` and `cargo test x.rs`, not a.rs, or `b.rs`\n```\n`c.rs`\n```\n".to_owned();
    let page = Page { path: "page.md".to_owned(), text };
    assert_eq!(page.spans().filter(|span| is_source(span)).collect::<Vec<_>>(), ["store/mod.rs", "b.rs"]);
}
