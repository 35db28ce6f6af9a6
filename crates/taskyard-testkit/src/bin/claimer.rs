//! claimer TASKS DATA LIST NUMBER ATTEMPTS: one of many processes that want the same few tasks of a list.
//!
//! Says "ready", waits for a line, makes its attempts, and then tells each on a line of its own (see `contest::Attempt`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::env;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::contest::Contestant;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [tasks, data, list, number, attempts] = &arguments[..] else {
        panic!("five arguments are wanted: TASKS DATA LIST NUMBER ATTEMPTS");
    };
    let (tasks, data) = (PathBuf::from(tasks), Some(PathBuf::from(data)));
    let store = FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict });
    let yard = Yard::new(Arc::new(store), ListId::new(list).unwrap(), AgentName::new("contest").unwrap());
    let contestant = Contestant::new(&yard, number.parse().unwrap());
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "ready").unwrap();
    out.flush().unwrap();
    io::stdin().read_line(&mut String::new()).unwrap();
    for attempt in contestant.compete(attempts.parse().unwrap()) {
        writeln!(out, "{}", attempt.to_json()).unwrap();
    }
}
