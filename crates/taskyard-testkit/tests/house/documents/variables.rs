//! Environment variables of ours.

use std::collections::BTreeSet;
use std::fs;

use crate::documents::page::{Page, files, root};

fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
    words.filter(|word| word.starts_with("TASKYARD_") && word.len() > "TASKYARD_".len() && !word.ends_with('_'))
}

#[test]
fn every_variable_that_a_document_names_is_read_by_something() {
    let mut sources = Vec::new();
    for folder in ["crates", "bench", "scripts", "rivals"] {
        files(&root().join(folder), "", &mut sources);
    }
    let is_page = |path: &String| path.ends_with(".md");
    let read = |path: &String| fs::read_to_string(root().join(path)).unwrap_or_default();
    let known: BTreeSet<String> = sources
        .iter()
        .filter(|path| !is_page(path))
        .flat_map(|path| variables_in(&read(path)).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let pages = Page::all();
    let named: Vec<(&str, &str)> =
        pages.iter().flat_map(|page| variables_in(&page.text).map(|name| (page.path.as_str(), name))).collect();
    assert!(named.len() > 20, "only {} were found", named.len());
    let idle: Vec<_> = named.into_iter().filter(|(_, name)| !known.contains(*name)).collect();
    assert!(idle.is_empty(), "nothing reads {idle:?}");
}
