//! Random lives of leases on the memory store.

use std::sync::Arc;

use taskyard::Store;
use taskyard::core::dialect::native;
use taskyard::core::{AgentName, ListId, Op, Rules, Task};
use taskyard::store::{MemoryStore, Signature, StoreClock};
use taskyard_testkit::properties::{Outside, leases_keep_their_promises};

#[test]
fn leases_keep_their_promises_whatever_happens() {
    leases_keep_their_promises(memory, 3000);
}

fn memory(clock: StoreClock) -> (Arc<dyn Store>, Outside) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Rules::Strict).with_clock(clock));
    let other = Arc::clone(&store);
    let outside = move |list: &ListId, task: &Task| {
        let mut txn = other.write(list).unwrap();
        txn.put_image(&task.id, native::write(None, task, Rules::Strict).unwrap()).unwrap();
        txn.commit(&Signature::new(AgentName::elsewhere(), Op::ChangedElsewhere)).unwrap();
    };
    (store, Box::new(outside))
}
