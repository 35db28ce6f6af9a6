//! Lists written in one line.
//!
//! A line holds tasks separated by `;`. Each begins with its id and its status; then, in any order, an owner (in parentheses), a
//! subject (a word, or more of them in quotes), metadata (a JSON object) and, after an arrow, the tasks it waits for:
//!
//! ```
//! let tasks = taskyard_testkit::list_builder::tasks(r#"1 pending "Design"; 2 in_progress (ana) <- 1; 3 completed {"tags":["ui"]}"#);
//! assert_eq!(tasks[0].blocks, tasks[1..2].iter().map(|task| task.id.clone()).collect::<Vec<_>>());
//! ```
//!
//! Edges are two-sided. A task waited for that is not in the line stays a dangling edge. Every list in tests that is not made by the
//! commands under test comes from here: as tasks, in a store, or as the client's files.

use std::fs;
use std::path::Path;

use taskyard::Store;
use taskyard::core::dialect::native;
use taskyard::core::{ListId, Metadata, Rules, Task, TaskId};

use crate::staging::commit;

/// Returns the tasks of a line, in its order.
pub fn tasks(line: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = split(line, ';').iter().filter(|part| !part.is_empty()).map(|part| task(part)).collect();
    let edges: Vec<(TaskId, TaskId)> = tasks
        .iter()
        .flat_map(|task| task.blocked_by.iter().map(|on| (on.clone(), task.id.clone())).collect::<Vec<_>>())
        .collect();
    for (blocker, waiting) in edges {
        if let Some(task) = tasks.iter_mut().find(|task| task.id == blocker) {
            task.blocks.push(waiting);
        }
    }
    tasks
}

/// Puts the tasks of a line into a list of a store, in one commit.
pub fn fill(store: &dyn Store, list: &ListId, line: &str) {
    commit(store, list, |txn| {
        for task in tasks(line) {
            txn.put(task).unwrap();
        }
    });
}

/// Writes the tasks of a line as files into a directory, as the client writes them.
pub fn write_files(directory: &Path, line: &str) {
    fs::create_dir_all(directory).unwrap();
    for (name, text) in files(line) {
        fs::write(directory.join(name), text).unwrap();
    }
}

/// Returns the files that the client keeps the tasks of a line in: names and contents.
pub fn files(line: &str) -> Vec<(String, String)> {
    tasks(line).iter().map(|task| (format!("{}.json", task.id.file_stem()), native_text(task))).collect()
}

/// Returns the file that the client keeps the one task of a line in.
pub fn file(line: &str) -> String {
    let [task] = &tasks(line)[..] else { panic!("`{line}` is not one task") };
    native_text(task)
}

fn native_text(task: &Task) -> String {
    let image = native::write(None, task, Rules::Strict).unwrap();
    String::from_utf8(image.bytes().to_vec()).unwrap()
}

fn task(part: &str) -> Task {
    let (head, waits_for) = part.split_once("<-").unwrap_or((part, ""));
    let words: Vec<String> = split(head, ' ').into_iter().filter(|word| !word.is_empty()).collect();
    let [id, status, rest @ ..] = words.as_slice() else { panic!("`{part}` has no id and status") };
    let mut task = Task::new(id.parse().unwrap(), format!("task {id}"));
    task.status = status.parse().unwrap();
    for word in rest {
        if let Some(owner) = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')) {
            task.owner = Some(owner.to_owned());
        } else if word.starts_with('{') {
            task.metadata = Some(serde_json::from_str::<Metadata>(word).unwrap());
        } else {
            unquoted(word).clone_into(&mut task.subject);
        }
    }
    let ids = waits_for.split([',', ' ']).filter(|id| !id.is_empty());
    task.blocked_by = ids.map(|id| id.parse().unwrap()).collect();
    task
}

/// Returns what stands between a pair of quotes, or the word that has none.
fn unquoted(word: &str) -> &str {
    let between = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).unwrap_or(word)
}

/// Splits at a separator, but not inside quotes or braces.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quote, mut depth) = (None, 0);
    for c in text.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (end, Some(begin)) if end == begin => quote = None,
            ('{', None) => depth += 1,
            ('}', None) => depth -= 1,
            _ => {}
        }
        if c == separator && quote.is_none() && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use taskyard::core::{Status, TaskId};

    use super::tasks;

    #[test]
    fn a_line_becomes_tasks_with_two_sided_edges() {
        let list =
            tasks(r#"1 pending; 2 in_progress (ana) "Two; or so" <- 1; 3 completed {"a": {"b": "x;y"}} <- 1, 2 9"#);
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].blocks, [2, 3].map(TaskId::number));
        assert_eq!(
            (list[1].status, list[1].owner(), list[1].subject.as_str()),
            (Status::InProgress, Some("ana"), "Two; or so")
        );
        assert_eq!(list[2].blocked_by, [1, 2, 9].map(TaskId::number));
        assert_eq!(list[2].meta("a").unwrap()["b"], "x;y");
    }

    #[test]
    fn a_subject_is_a_word_or_stands_in_quotes() {
        let subjects: Vec<String> = tasks(r#"1 pending One; 2 pending 'it is "two"'; 3 pending "three's"; 4 pending"#)
            .into_iter()
            .map(|task| task.subject)
            .collect();
        assert_eq!(subjects, ["One", r#"it is "two""#, "three's", "task 4"]);
    }
}
