//! The contract of a store, stamped onto the file store.

use std::sync::Arc;

use taskyard::Store;
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::{Opened, Rules};

fn open(rules: Rules) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let options =
        FileStoreOptions { tasks: folder.path().join("tasks"), data: Some(folder.path().join("data")), rules };
    Opened::keeping(Arc::new(FileStore::open(options)) as Arc<dyn Store>, folder)
}

taskyard_testkit::store_suite!(open);
