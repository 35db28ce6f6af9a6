//! Changing a list without the operations, as the tests of a store do.

use std::collections::BTreeMap;

use taskyard::Store;
use taskyard::core::{AgentName, Event, ListId, Op, TaskId};
use taskyard::store::{Lookup, Signature, Snapshot, StoreError, Txn};

/// Returns the signature of a plain change by `tester`.
pub fn signature(op: Op) -> Signature {
    Signature::new(AgentName::new("tester").expect("the name is not blank"), op)
}

/// Stages and commits a change, starting over as often as the store demands.
pub fn commit(store: &dyn Store, list: &ListId, mut change: impl FnMut(&mut dyn Txn)) -> Option<Event> {
    loop {
        let mut txn = store.write(list).unwrap();
        change(&mut *txn);
        match txn.commit(&signature(Op::Update)) {
            Ok(event) => return event,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns every task of a list by its exact bytes.
pub fn images(list: &dyn Snapshot) -> BTreeMap<TaskId, String> {
    let image = |id: TaskId| match list.find(&id).unwrap() {
        Lookup::Found(_, image) => (id, String::from_utf8(image.bytes().to_vec()).unwrap()),
        other => panic!("task {id} was listed and is not found: {other:?}"),
    };
    list.tasks().unwrap().into_iter().map(|task| image(task.id)).collect()
}
