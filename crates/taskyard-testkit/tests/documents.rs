//! What the documents name is there: every source file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::{Path, PathBuf};

/// What `docs/design/threats.md` calls the folders of tests.
const SHORT: [(&str, &str); 3] =
    [("lib/", "taskyard/tests/"), ("cli/", "taskyard-cli/tests/"), ("kit/", "taskyard-testkit/tests/")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Collects the files below a folder that end like this, by their paths from the project's root.
fn files(folder: &Path, ending: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if path.is_dir() && !["target", "node_modules", ".git"].contains(&name) {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Returns the names of source files that a page has between backquotes, outside of blocks of code.
fn sources_named(page: &str) -> Vec<&str> {
    let is_path = |text: &&str| {
        text.ends_with(".rs") && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "./_-".contains(letter))
    };
    let mut is_code = false;
    let lines = page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_path).collect()
}

#[test]
fn every_source_file_that_a_document_names_is_there() {
    let (mut sources, mut pages) = (Vec::new(), Vec::new());
    files(&root().join("crates"), ".rs", &mut sources);
    files(&root().join("bench"), ".rs", &mut sources);
    files(&root().join("docs"), ".md", &mut pages);
    pages.extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/README.md"].map(str::to_owned));
    let mut missing = Vec::new();
    let mut count = 0;
    for page in &pages {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for named in sources_named(&text) {
            count += 1;
            let full = SHORT.iter().find_map(|(short, full)| Some(format!("{full}{}", named.strip_prefix(short)?)));
            let ends = [Some(named.to_owned()), full].into_iter().flatten().map(|name| format!("/{name}"));
            if !ends.into_iter().any(|end| sources.iter().any(|source| format!("/{source}").ends_with(&end))) {
                missing.push(format!("{page}: {named}"));
            }
        }
    }
    assert!(count > 200, "only {count} names were found");
    assert!(missing.is_empty(), "these are named, and not there:\n{}", missing.join("\n"));
}

#[test]
fn names_are_found_between_backquotes() {
    assert_eq!(
        sources_named("see `store/mod.rs` and `cargo test x.rs`, not a.rs, or `b.rs`"),
        ["store/mod.rs", "b.rs"]
    );
}
