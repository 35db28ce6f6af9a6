//! The contract of a store, stamped onto the store of documents.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use taskyard::store::{DocumentOptions, DocumentPlace, open_documents};
use taskyard_testkit::{Opened, Rules};

fn open(rules: Rules) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let place = DocumentPlace::Lists(folder.path().join("tasks"));
    Opened::keeping(open_documents(DocumentOptions { place, data: folder.path().join("data"), rules }), folder)
}

taskyard_testkit::store_suite!(open);
