//! The contract of a store, one function per promise. [`crate::store_suite`] makes a test of each.

pub mod committing;
pub mod contention;
pub mod history;
pub mod images;
pub mod numbering;
pub mod pairs;
pub mod reading;
pub mod watching;

mod stamp;

use taskyard::core::{ListId, Rules, Task, TaskId};
use taskyard::{Store, core::ClientVersion};

use crate::Opened;

pub use stamp::open_with;

/// Opens a fresh store in these rules.
pub type Open = dyn Fn(Rules) -> Opened;

const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

fn list() -> ListId {
    ListId::new("suite").unwrap()
}

fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

fn task(number: u64, subject: &str) -> Task {
    Task::new(id(number), subject)
}

fn subjects(store: &dyn Store) -> Vec<String> {
    store.read(&list()).unwrap().tasks().unwrap().into_iter().map(|task| task.subject).collect()
}
