//! `long_journal TASKS DATA LIST REVISIONS BYTES`: makes a list whose journal has so many revisions, of tasks with so many bytes each, to
//! show what commands cost there.
#![allow(clippy::unwrap_used, reason = "a program for tests panics where it cannot go on")]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::write_long_journal;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [tasks, data, list, revisions, bytes] = &arguments[..] else {
        panic!("five arguments are wanted: TASKS DATA LIST REVISIONS BYTES");
    };
    let (tasks, data) = (PathBuf::from(tasks), Some(PathBuf::from(data)));
    let store = FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict });
    let yard = Yard::new(Arc::new(store), ListId::new(list).unwrap(), AgentName::new("busy").unwrap());
    write_long_journal(&yard, revisions.parse().unwrap(), bytes.parse().unwrap());
}
