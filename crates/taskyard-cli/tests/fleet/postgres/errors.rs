//! What is wrong is said, at once, and nothing is lost.

use std::fs;
use std::time::Duration;

use taskyard_testkit::{Cluster, SharedPostgres, Took, wait_until};

use crate::postgres::{ask, command, home, run};

#[test]
fn an_address_that_leads_nowhere_is_told_of_at_once() {
    let home = home();
    for (address, said) in [
        ("postgres://postgres@127.0.0.1:1/postgres", "cannot be reached"),
        ("postgres://postgres@no.such.host.invalid/postgres", "cannot be reached"),
        ("postgres://postgres@127.0.0.1/postgres?nonsense=1", "unknown parameter `nonsense`"),
        ("postgres://postgres@127.0.0.1:many/postgres", ""),
    ] {
        let (ran, took) = Took::by(command(&home, address, "list"));
        let code = if said == "cannot be reached" { 1 } else { 2 };
        assert!(ran.code == Some(code) && ran.stderr.contains(said), "{address}: {ran:?}");
        assert!(took.waited < Duration::from_secs(25), "{address}: {took:?}");
        assert_eq!(
            ran.stderr.matches("cannot be reached").count(),
            usize::from(said == "cannot be reached"),
            "{ran:?}"
        );
    }
    let nothing =
        SharedPostgres::get().cluster().address().replace("/postgres", "/nothing").replace("//nothing@", "//postgres@");
    let ran = run(&home, &nothing, "list");
    assert!(ran.stderr.contains("database \"nothing\" does not exist"), "{ran:?}");
}

#[test]
fn a_schema_of_the_future_is_refused_for_reading_and_writing() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let home = home();
    ask(&home, &store, "create kept");
    let schema = store.rsplit_once('=').unwrap().1;
    server.cluster().sql(&format!("UPDATE {schema}.yard SET version = 99"));
    for words in ["list", "create more", "history"] {
        let ran = run(&home, &store, words);
        assert!(ran.stderr.contains("newer taskyard") && ran.code == Some(1), "{words}: {ran:?}");
    }
    server.cluster().sql(&format!("DROP TABLE {schema}.leases"));
    let ran = run(&home, &store, "list");
    assert!(ran.stderr.contains("newer taskyard"), "{ran:?}");
    assert_eq!(server.cluster().sql(&format!("SELECT count(*) FROM {schema}.tasks")), "1");
}

#[test]
fn read_only_server_is_told_without_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let home = home();
    ask(&home, &cluster.address(), "create first");
    cluster.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    cluster.sql("SELECT pg_reload_conf()");
    wait_until("the setting", || cluster.sql("SHOW default_transaction_read_only") == "on");
    let ran = run(&home, &cluster.address(), "create second");
    assert!(ran.code == Some(1) && ran.stderr.contains("accepts no changes"), "{ran:?}");
    assert!(!ran.stderr.contains("may have been made"), "{ran:?}");
    assert!(ask(&home, &cluster.address(), "list").contains("first"));
}

#[test]
fn tables_of_the_first_version_are_brought_up_by_a_reader() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let home = home();
    ask(&home, &store, "create kept");
    ask(&home, &store, &format!("claim 1 --pid {} --as ana", std::process::id()));
    let store = server.in_first_version(&store);
    let schema = store.rsplit_once('=').unwrap().1;
    assert!(ask(&home, &store, "list").contains("kept"));
    assert_eq!(server.cluster().sql(&format!("SELECT version FROM {schema}.yard")), "2");
    // A lease that was given before has no heartbeat, and lives by its time.
    let another = crate::postgres::home();
    let refused = run(&another, &store, "claim 1 --as ben");
    assert!(refused.code == Some(3) && refused.stderr.contains("ana"), "{refused:?}");
}

#[test]
fn a_wrong_password_is_told_of_and_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql("CREATE ROLE ana LOGIN PASSWORD 's3cret'; GRANT CREATE ON DATABASE postgres TO ana");
    let rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    fs::write(cluster.data().join("pg_hba.conf"), rules).unwrap();
    cluster.sql("SELECT pg_reload_conf()");
    let home = home();
    let address = |user: &str| cluster.address().replace("postgres@", &format!("{user}@"));
    let ran = run(&home, &address("ana:wr0ng"), "list");
    assert!(ran.stderr.contains("password authentication failed") && ran.stderr.contains(".pgpass"), "{ran:?}");
    assert!(!ran.stderr.contains("wr0ng"), "{ran:?}");
    let ran = run(&home, &address("ana"), "list");
    assert!(ran.stderr.contains("requires a password") && ran.stderr.contains(".pgpass"), "{ran:?}");
    ask(&home, &address("ana:s3cret"), "create x");
    crate::postgres::passwords::let_in_by_passfile(&home, &cluster);
    ask(&home, &address("ana"), "list");
}
