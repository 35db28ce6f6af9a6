//! Random operations on the file store.

use std::sync::Arc;

use taskyard::Store;
use taskyard::core::{ClientVersion, Rules};
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::properties::random_operations_keep_the_invariants;
use taskyard_testkit::{Opened, folder_in_memory};

fn files(rules: Rules) -> Opened {
    let folder = folder_in_memory();
    let options =
        FileStoreOptions { tasks: folder.path().join("tasks"), data: Some(folder.path().join("data")), rules };
    Opened::keeping(Arc::new(FileStore::open(options)) as Arc<dyn Store>, folder)
}

#[test]
fn random_operations_keep_the_invariants_in_strict_rules() {
    random_operations_keep_the_invariants(files, Rules::Strict, 400);
}

#[test]
fn random_operations_keep_the_journal_true_in_client_rules() {
    random_operations_keep_the_invariants(files, Rules::Client(ClientVersion::V2_1_325), 200);
}
