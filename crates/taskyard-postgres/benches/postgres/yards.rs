//! Yards with lists in them.

use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Op, Rules, Task, TaskId};
use taskyard::store::{Signature, Store};
use taskyard_postgres::{PostgresStore, Surroundings};

/// Returns a list for an agent.
pub(crate) fn yard(address: &str, list: &str, agent: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    Yard::new(store, ListId::new(list).unwrap(), AgentName::new(agent).unwrap())
}

/// Makes a list of so many tasks.
pub(crate) fn fill(address: &str, list: &str, count: u64) {
    let yard = yard(address, list, "filler");
    let numbers: Vec<u64> = (1..=count).collect();
    for some in numbers.chunks(2_000) {
        let mut txn = yard.store().write(yard.list_id()).unwrap();
        for number in some {
            txn.put(Task::new(TaskId::number(*number), format!("task {number}"))).unwrap();
        }
        txn.commit(&Signature::new(AgentName::new("filler").unwrap(), Op::Import)).unwrap();
    }
}
