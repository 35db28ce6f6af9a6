//! The contract of a store, stamped onto the store of documents.

use taskyard::store::{DocumentOptions, DocumentPaths, open_documents};
use taskyard_testkit::{Opened, Rules};

fn open(rules: Rules) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let paths = DocumentPaths::Lists(folder.path().join("tasks"));
    Opened::keeping(open_documents(DocumentOptions { paths, data: folder.path().join("data"), rules }), folder)
}

taskyard_testkit::store_suite!(open);
