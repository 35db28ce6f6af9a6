//! `upserter STORE DATA NUMBER COUNT [PLAN]`: one of many processes that write to one list in another dialect.
//!
//! STORE is `document:FILE` or `teaching:FOLDER`. With every commit it writes a task of its own and counts up one that all share. A
//! plan is a failpoint's.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Store;
use taskyard::core::{ListId, Rules, Task, TaskId};
use taskyard::failpoint;
use taskyard::store::{DocumentOptions, DocumentPaths, TeachingOptions, TeachingPaths, open_documents, open_teaching};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, data, number, count, plan @ ..] = &arguments[..] else {
        panic!("four arguments are wanted: STORE DATA NUMBER COUNT");
    };
    if let [plan] = plan {
        failpoint::arm(plan).unwrap();
    }
    let store = open(address, PathBuf::from(data));
    let list = ListId::new("L").unwrap();
    for _ in 0..count.parse::<u64>().unwrap() {
        taskyard_testkit::commit(&*store, &list, |txn| {
            let shared = TaskId::stored("shared");
            let mut task = txn.find(&shared).unwrap().task().unwrap_or_else(|| Task::new(shared.clone(), "shared"));
            let of = |task: &Task, key: &str| task.meta(key).and_then(Value::as_u64).unwrap_or(0);
            let (all, mine) = (of(&task, "count"), of(&task, number));
            let metadata = task.metadata.get_or_insert_default();
            metadata.insert("count".to_owned(), json!(all + 1));
            metadata.insert(number.clone(), json!(mine + 1));
            txn.put(task).unwrap();
            let own = TaskId::stored(format!("p{number}-{}", mine % 10));
            txn.put(Task::new(own, format!("round {mine}"))).unwrap();
        });
    }
}

fn open(address: &str, data: PathBuf) -> Arc<dyn Store> {
    let rules = Rules::Strict;
    match address.split_once(':') {
        Some(("document", path)) => {
            open_documents(DocumentOptions { paths: DocumentPaths::File(path.into()), data, rules })
        }
        Some(("teaching", path)) => {
            open_teaching(TeachingOptions { paths: TeachingPaths::Folder(path.into()), data, rules })
        }
        _ => panic!("`{address}` is no store"),
    }
}
