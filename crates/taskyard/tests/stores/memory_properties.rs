//! Random operations on the memory store.

use std::sync::Arc;

use taskyard::Store;
use taskyard::core::{ClientVersion, Rules};
use taskyard::store::MemoryStore;
use taskyard_testkit::properties::random_operations_keep_the_invariants;

fn memory(rules: Rules) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(rules))
}

#[test]
fn random_operations_keep_the_invariants_in_strict_rules() {
    random_operations_keep_the_invariants(memory, Rules::Strict, 2000);
}

#[test]
fn random_operations_keep_the_journal_true_in_client_rules() {
    random_operations_keep_the_invariants(memory, Rules::Client(ClientVersion::V2_1_325), 1000);
}
