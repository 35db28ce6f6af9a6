//! The list and the tasks that the suite plays with.

use taskyard::Store;
use taskyard::core::{ClientVersion, ListId, Rules, Task, TaskId};

use crate::Opened;

/// Opens a fresh store in these rules.
pub type Open = dyn Fn(Rules) -> Opened;

pub(super) const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

pub(super) fn list() -> ListId {
    ListId::new("suite").unwrap()
}

pub(super) fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

pub(super) fn task(number: u64, subject: &str) -> Task {
    Task::new(id(number), subject)
}

pub(super) fn subjects(store: &dyn Store) -> Vec<String> {
    store.read(&list()).unwrap().tasks().unwrap().into_iter().map(|task| task.subject).collect()
}
