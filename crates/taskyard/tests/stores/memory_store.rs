//! The contract of a store, stamped onto the memory store.

use std::sync::Arc;

use taskyard::Store;
use taskyard::store::MemoryStore;

taskyard_testkit::store_suite!(|rules| Arc::new(MemoryStore::new(rules)) as Arc<dyn Store>);
