//! What earlier releases left is opened, read, upgraded and gone on with, and nothing of it is lost, whatever happens meanwhile.
//!
//! Every step of every upgrade: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test keeping upgrading::`.

mod around;
mod killing;
mod lists;
mod reading;

use taskyard::core::{Image, TaskId};
use taskyard::store::{HistoryQuery, Lookup, Store};
use taskyard_testkit::{OldEntry, OldList, OldYard};

/// Unpacks every yard that is kept.
fn yards() -> impl Iterator<Item = OldYard> {
    OldYard::ALL.into_iter().map(yard)
}

/// Unpacks a yard for the binary under test.
fn yard(name: &str) -> OldYard {
    OldYard::unpack(name, env!("CARGO_BIN_EXE_taskyard"))
}

/// Asserts that a list's journal begins with what the earlier release wrote, byte for byte, and returns what it says after that.
fn what_was_added(yard: &OldYard, list: &OldList, written: &[OldEntry]) -> Vec<OldEntry> {
    let store = yard.open(list);
    let entries = store.history(&list.id(), &HistoryQuery::default()).unwrap();
    let mut entries: Vec<OldEntry> = entries.iter().map(OldEntry::from).collect();
    assert!(entries.len() >= written.len(), "{list:?} lost entries");
    let added = entries.split_off(written.len());
    for (kept, written) in entries.iter().zip(written) {
        assert_eq!(kept, written, "{list:?}");
    }
    added
}

/// Asserts that every task of a list is as the journal last says.
fn is_as_the_journal_says(store: &dyn Store, list: &OldList) {
    let entries = store.history(&list.id(), &HistoryQuery::default()).unwrap();
    let mut last: std::collections::BTreeMap<TaskId, Option<Image>> = std::collections::BTreeMap::new();
    for entry in entries {
        last.insert(entry.task, entry.after);
    }
    let snapshot = store.read(&list.id()).unwrap();
    for (task, image) in last {
        match (snapshot.find(&task).unwrap(), image) {
            (Lookup::Found(_, found), Some(image)) => assert_eq!(found, image, "task {task} of {list:?}"),
            (Lookup::Missing, None) => {}
            (found, image) => panic!("task {task} of {list:?}: {found:?}, and the journal says {image:?}"),
        }
    }
}
