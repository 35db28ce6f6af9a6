//! A server whose disk is full.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use taskyard_testkit::{Cluster, Program, Random};

use crate::postgres::{ask, command, home, run};

#[test]
fn a_full_disk_is_told_of_and_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::make(folder.path(), &["autovacuum = off"]).stop_when_dropped();
    let flag = folder.path().join("full");
    cluster.stop("fast");
    cluster.set_variable("LD_PRELOAD", &shim(folder.path()));
    cluster.set_variable("TASKYARD_FULL_DISK", &flag);
    cluster.start();
    let (home, store) = (home(), cluster.address());
    let mut random = Random::new(1);
    // Nothing that can be packed.
    let mut text = || (0..8_000).map(|_| char::from(b'!' + random.below(90) as u8)).collect::<String>();
    let mut create = || {
        let mut create = command(&home, &store, "create kept");
        create.arg(format!("--description=a{}", text())).run()
    };
    let mut acknowledged = 0;
    for _ in 0..3 {
        assert_eq!(create().code, Some(0));
        acknowledged += 1;
    }
    File::create(&flag).unwrap();
    let refused = loop {
        let ran = create();
        match ran.code {
            Some(0) => acknowledged += 1,
            _ => break ran,
        }
        assert!(acknowledged < 200, "the disk does not fill up");
    };
    assert!(refused.code == Some(1) && refused.stderr.contains("No space left on device"), "{refused:?}");
    assert_eq!(count(&ask(&home, &store, "list --json")), acknowledged, "what is there can be read");
    let again = create();
    assert_eq!(again.code, Some(1), "{again:?}");
    fs::remove_file(&flag).unwrap();
    assert_eq!(create().code, Some(0));
    assert_eq!(count(&ask(&home, &store, "list --json")), acknowledged + 1);
    let revisions = cluster.sql("SELECT count(DISTINCT revision) = max(revision) FROM taskyard.changes");
    assert_eq!(revisions, "t");
    assert_eq!(run(&home, &store, "doctor").code, Some(0));
}

fn count(listed: &str) -> usize {
    serde_json::from_str::<Value>(listed).unwrap()["tasks"].as_array().unwrap().len()
}

/// Builds what makes the disk full.
fn shim(folder: &Path) -> PathBuf {
    let (source, library) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fleet/postgres/full_disk.c"), folder.join("full_disk.so"));
    let built = Program::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(built.success());
    fs::set_permissions(&library, fs::Permissions::from_mode(0o755)).unwrap();
    library
}
