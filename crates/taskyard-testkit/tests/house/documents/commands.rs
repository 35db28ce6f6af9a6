//! Commands and their flags, held against the reference, which a test keeps true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::documents::page::{Page, root};

/// Flags of other programs that pages speak of.
const OF_OTHERS: [&str; 3] = ["bench/README.md", "docs/interop.md", "docs/conformance.md"];

/// What the tour types to show how the program answers, and what the parser has of its own.
const KNOWN: [&str; 2] = ["finish", "help"];

/// What a command of the reference takes.
type Reference = BTreeMap<String, BTreeSet<String>>;

fn reference() -> Reference {
    let text = fs::read_to_string(root().join("docs/cli-reference.md")).unwrap();
    let mut reference = Reference::new();
    let mut command = String::new();
    for line in text.lines() {
        match line.strip_prefix("## ") {
            Some(name) => {
                name.clone_into(&mut command);
                reference.insert(command.clone(), BTreeSet::new());
            }
            None => {
                if let Some(flags) = reference.get_mut(&command) {
                    flags.extend(flags_in(line).map(str::to_owned));
                }
            }
        }
    }
    reference
}

/// Returns the long flags in a text.
fn flags_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.filter(|word| {
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|letter: char| letter.is_ascii_lowercase()))
    })
}

/// Returns the commands that a page gives as they are typed.
fn commands_in(page: &Page) -> Vec<String> {
    let spans = page.spans().filter_map(|span| span.trim_start_matches("$ ").strip_prefix("taskyard "));
    let blocks = page.block_lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("$ ");
        line.strip_prefix("taskyard ")
    });
    let end = |command: &str| command.split([';', '|', '#', '&']).next().unwrap_or_default().trim().to_owned();
    spans.chain(blocks).map(end).collect()
}

/// Returns what is wrong with a command, or `None` if it is valid.
fn fault(command: &str, reference: &Reference) -> Option<String> {
    let mut name = "taskyard".to_owned();
    let mut words = command.split_whitespace().skip_while(|word| word.starts_with('-')).peekable();
    let is_word = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    while let Some(word) = words.next_if(|word| reference.contains_key(&format!("{name} {word}"))) {
        name = format!("{name} {word}");
    }
    if name == "taskyard" && words.peek().is_some_and(|word| is_word(word) && !KNOWN.contains(word)) {
        return Some(format!("`taskyard {command}`: there is no such command"));
    }
    // What follows is for the command that it runs.
    let own = command.split(" -- ").next().unwrap_or_default();
    let is_known = |flag: &str| [&name, "taskyard"].iter().any(|name| reference[*name].contains(flag));
    flags_in(own).find(|flag| !is_known(flag)).map(|flag| format!("`taskyard {command}`: `{name}` takes no {flag}"))
}

#[test]
fn every_command_and_flag_that_a_document_names_is_there() {
    let reference = reference();
    assert!(reference.len() > 60, "the reference has {} commands", reference.len());
    let (mut count, mut faults) = (0, Vec::new());
    for page in Page::all() {
        for command in commands_in(&page) {
            count += 1;
            faults.extend(fault(&command, &reference).map(|fault| format!("{}: {fault}", page.path)));
        }
        if !OF_OTHERS.contains(&page.path.as_str()) {
            for flag in page.spans().filter(|span| span.starts_with("--")).flat_map(|span| flags_in(span).take(1)) {
                count += 1;
                if !reference.values().any(|flags| flags.contains(flag)) {
                    faults.push(format!("{}: nothing takes `{flag}`", page.path));
                }
            }
        }
    }
    assert!(count > 300, "only {count} were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_cannot_be_typed_is_found() {
    let reference = reference();
    assert_eq!(fault("list --json status:open", &reference), None);
    assert_eq!(fault("job run --name x -- make --fast", &reference), None);
    assert!(fault("job run --fast", &reference).is_some_and(|fault| fault.contains("--fast")));
    assert!(fault("complete 2", &reference).is_some());
}
