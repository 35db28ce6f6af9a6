//! The contract of a store, stamped onto the store of teaching folders.

use taskyard::store::{TeachingOptions, TeachingPaths, open_teaching};
use taskyard_testkit::{Opened, Rules};

fn open(rules: Rules) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let paths = TeachingPaths::Lists(folder.path().join("folders"));
    Opened::keeping(open_teaching(TeachingOptions { paths, data: folder.path().join("data"), rules }), folder)
}

taskyard_testkit::store_suite!(open);
