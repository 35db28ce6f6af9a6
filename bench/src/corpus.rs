//! The tasks that are measured on: of the size and shape that agents write.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Failure;

/// What an agent says is to be done, at about the length it says it. The Node rival says the same.
pub(crate) const DESCRIPTION: &str = "Read the parser module, add the store handle, thread it through, update the unit \
    tests and the integration test, then run the suite and record the outcome in the progress log so that the reviewer can \
    follow it.";

/// A task file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document {
    id: String,
    subject: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    status: String,
    blocks: Vec<String>,
    blocked_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
}

/// Returns the title of a task.
pub(crate) fn subject(number: usize) -> String {
    format!("Task {number}: wire the parser to the store")
}

/// Returns what is being done on a task.
pub(crate) fn active_form(number: usize) -> String {
    format!("Working on {number}")
}

/// Returns the text of a new task's file.
pub(crate) fn new_task(number: usize) -> Vec<u8> {
    text(&fresh(number))
}

/// Fills a directory with a list in the middle of its life: a quarter completed, a tenth taken, every fifth task waiting for the
/// one before it, every eighth with metadata.
pub(crate) fn fill(directory: &Path, count: usize) -> Result<(), Failure> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join(".lock"), "")?;
    for number in 1..=count {
        fs::write(directory.join(format!("{number}.json")), text(&grown(number, count)))?;
    }
    // What is still being written back while a measurement runs would be measured with it.
    rustix::fs::sync();
    Ok(())
}

/// Fills a directory with new tasks.
pub(crate) fn fill_with_new(directory: &Path, count: usize) -> Result<(), Failure> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join(".lock"), "")?;
    for number in 1..=count {
        fs::write(directory.join(format!("{number}.json")), new_task(number))?;
    }
    rustix::fs::sync();
    Ok(())
}

fn fresh(number: usize) -> Document {
    Document {
        id: number.to_string(),
        subject: subject(number),
        description: DESCRIPTION.to_owned(),
        active_form: Some(active_form(number)),
        owner: None,
        status: "pending".to_owned(),
        blocks: Vec::new(),
        blocked_by: Vec::new(),
        metadata: None,
    }
}

fn grown(number: usize, count: usize) -> Document {
    let mut document = fresh(number);
    if number.is_multiple_of(4) {
        "completed".clone_into(&mut document.status);
    } else if number % 10 == 1 {
        "in_progress".clone_into(&mut document.status);
        document.owner = Some(format!("agent-{}", number % 7));
    }
    if number.is_multiple_of(5) {
        document.blocked_by.push((number - 1).to_string());
    } else if number % 5 == 4 && number < count {
        document.blocks.push((number + 1).to_string());
    }
    if number.is_multiple_of(8) {
        let metadata = [("priority", "high"), ("branch", "parser-store")];
        document.metadata = Some(metadata.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect());
    }
    document
}

fn text(document: &Document) -> Vec<u8> {
    serde_json::to_vec_pretty(document).expect("a document of strings has a JSON form")
}
