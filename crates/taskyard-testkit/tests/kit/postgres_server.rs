//! The PostgreSQL servers that tests are given.

use taskyard_testkit::{Cluster, SharedPostgres};

#[test]
fn a_server_of_the_systems_packages_answers() {
    let version: u32 = SharedPostgres::get().cluster().sql("SHOW server_version_num").parse().unwrap();
    assert!(version >= 140_000, "{version}");
}

#[test]
fn killed_server_restarts_with_all_it_had_committed() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)");
    cluster.kill();
    cluster.start();
    assert_eq!(cluster.sql("SELECT x FROM kept"), "7");
}
