//! upserter DOCUMENT DATA NUMBER COUNT: one of many processes that write to one document.
//!
//! Each writes tasks of its own and counts up one that all share.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::env;
use std::path::PathBuf;

use serde_json::{Value, json};
use taskyard::core::{ListId, Rules, Task, TaskId};
use taskyard::store::{DocumentOptions, DocumentPlace, open_documents};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [document, data, number, count] = &arguments[..] else {
        panic!("four arguments are wanted: DOCUMENT DATA NUMBER COUNT");
    };
    let place = DocumentPlace::File(PathBuf::from(document));
    let store = open_documents(DocumentOptions { place, data: PathBuf::from(data), rules: Rules::Strict });
    let list = ListId::new("L").unwrap();
    for round in 0..count.parse::<u64>().unwrap() {
        taskyard_testkit::commit(&*store, &list, |txn| {
            let mine = TaskId::stored(format!("p{number}-{}", round % 10));
            txn.put(Task::new(mine, format!("round {round}"))).unwrap();
            let shared = TaskId::stored("shared");
            let mut task = txn.find(&shared).unwrap().task().unwrap_or_else(|| Task::new(shared.clone(), "shared"));
            let counted = task.meta("count").and_then(Value::as_u64).unwrap_or(0);
            task.metadata = json!({ "count": counted + 1 }).as_object().cloned();
            txn.put(task).unwrap();
        });
    }
}
