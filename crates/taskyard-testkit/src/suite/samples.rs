//! The list and the tasks that the suite plays with.

use taskyard::Store;
use taskyard::core::{ClientVersion, ListId, Rules, Task, TaskId};
use taskyard::store::{FileLayout, HistoryQuery};

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

/// Fails unless a new task gets this number next, or a never-used name if the store does not number tasks.
pub(super) fn next_is(store: &dyn Store, number: u64) {
    let next = store.write(&list()).unwrap().new_id().unwrap();
    let layout = store.care().map_or(FileLayout::Numbered, |care| care.layout());
    if layout == FileLayout::Numbered {
        return assert_eq!(next, id(number));
    }
    let known = store.history(&list(), &HistoryQuery { task: Some(next), ..HistoryQuery::default() }).unwrap();
    assert_eq!(known, []);
}
