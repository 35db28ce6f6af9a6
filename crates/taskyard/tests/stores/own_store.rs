//! The store of the example keeps the promises of a store.

use std::sync::Arc;

use taskyard::Store;

#[path = "../../examples/own_store.rs"]
#[allow(unreachable_pub, reason = "it is written as a program would have it")]
mod example;

taskyard_testkit::store_suite!(|rules| Arc::new(example::ShelfStore::new(rules)) as Arc<dyn Store>);
