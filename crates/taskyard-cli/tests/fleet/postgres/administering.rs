//! The commands of the administrator.

use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{Cluster, Pooler, Program, SharedPostgres, postgres_program, wait_until};

use crate::postgres::{ask, command, home, run};

#[test]
fn db_init_makes_the_tables_once() {
    let store = SharedPostgres::get().fresh_address();
    let home = home();
    let missing = run(&home, &store, "db upgrade");
    assert!(missing.code == Some(4) && missing.stderr.contains("db init"), "{missing:?}");
    let status = run(&home, &store, "db status --json");
    let told: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!((status.code, &told["problems"][0]["code"]), (Some(1), &json!("no_tables")), "{told}");
    assert_eq!(ask(&home, &store, "db init"), "Created the tables, version 2\n");
    assert_eq!(ask(&home, &store, "db init"), "The tables already have version 2\n");
    assert_eq!(ask(&home, &store, "db upgrade"), "The tables already have version 2\n");
    let status = ask(&home, &store, "db status");
    assert!(status.contains("primary") && status.contains("version 2, 0 lists"), "{status}");
    let elsewhere = run(&home, "claude:", "db status");
    assert!(elsewhere.code == Some(2) && elsewhere.stderr.contains("is not a database"), "{elsewhere:?}");
}

#[test]
fn db_upgrade_tells_both_versions() {
    let server = SharedPostgres::get();
    let home = home();
    let new = server.fresh_address();
    ask(&home, &new, "create kept");
    let old = server.in_first_version(&new);
    let status = run(&home, &old, "db status");
    assert!(status.code == Some(1) && status.stdout.contains("`taskyard db upgrade` brings them to 2"), "{status:?}");
    let told = ask(&home, &old, "db upgrade");
    assert!(told.starts_with("Upgraded the tables from version 1 to 2\n"), "{told}");
    assert!(ask(&home, &old, "list").contains("kept"));
    let schema = old.rsplit_once('=').unwrap().1;
    server.cluster().sql(&format!("UPDATE {schema}.yard SET version = 3"));
    for words in ["db upgrade", "db init"] {
        let newer = run(&home, &old, words);
        assert!(newer.code == Some(1) && newer.stderr.contains("newer taskyard"), "{newer:?}");
    }
    let status = run(&home, &old, "db status --json");
    let told: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(told["problems"][0]["code"], "newer_tables", "{told}");
}

#[test]
fn db_status_shows_replicas_and_who_waits() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let primary = Cluster::make(folders[0].path(), &["synchronous_standby_names = 'second'"]).stop_when_dropped();
    let standby = Cluster::standby(&primary, folders[1].path(), "second").stop_when_dropped();
    let home = home();
    let status = |address: &str| -> (Option<i32>, Value) {
        let ran = run(&home, address, "db status --json");
        (ran.code, serde_json::from_str(&ran.stdout).unwrap())
    };
    ask(&home, &primary.address(), "create first");
    let (code, told) = status(&primary.address());
    assert_eq!((code, &told["replicas"][0]["sync"]), (Some(0), &json!("sync")), "{told}");
    assert_eq!((&told["notificationsArrive"], &told["tables"]["lists"]), (&json!(true), &json!(1)), "{told}");
    assert_eq!((&told["standby"], &told["tables"]["epochs"]), (&json!(false), &json!(1)), "{told}");
    wait_until("the standby", || standby.sql("SELECT count(*) FROM taskyard.lists") == "1");
    let (_, told) = status(&format!("{}?target_session_attrs=any", standby.address()));
    assert_eq!((&told["standby"], &told["notificationsArrive"]), (&json!(true), &json!(false)), "{told}");

    let mut holder = psql(&primary);
    holder.tell("BEGIN; SELECT 1 FROM taskyard.lists FOR UPDATE;");
    assert!(holder.line().is_some());
    let mut waiter = psql(&primary);
    waiter.tell("SELECT 1 FROM taskyard.lists FOR UPDATE;");
    wait_until("the other to wait", || {
        let (_, told) = status(&primary.address());
        told["blocked"][0]["by"][0]["application"] == "holder"
    });
    holder.kill();
    waiter.kill();
    let mut holder = psql(&primary);
    holder.tell("BEGIN; LOCK TABLE taskyard.tasks; SELECT 1;");
    assert!(holder.line().is_some());
    let (code, told) = status(&primary.address());
    assert_eq!((code, &told["problems"][0]["code"]), (Some(1), &json!("tables_locked")), "{told}");
    holder.kill();

    standby.stop("fast");
    wait_until("the standby to be missed", || {
        let (code, told) = status(&primary.address());
        code == Some(1) && told["problems"][0]["code"] == "no_synchronous_standby"
    });
}

#[test]
fn db_status_tells_that_a_pooler_passes_no_notifications() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let pooler = Pooler::start(server.cluster());
    let home = home();
    ask(&home, &store, "create first");
    let told = ask(&home, &pooler.address_like(&store), "db status");
    assert!(told.contains("do not arrive"), "{told}");
    assert!(ask(&home, &store, "db status").contains("notifications arrive"));
}

#[test]
fn metrics_count_round_trips_reconnects_and_waits() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let home = home();
    ask(&home, &cluster.address(), "create first");
    let mut server = command(&home, &cluster.address(), "serve --port 0 --json").stdout(Stdio::piped()).start();
    let told = server.json().unwrap();
    let url = format!("{}/metrics", told["url"].as_str().unwrap().trim_end_matches('/'));
    let token = std::fs::read_to_string(told["tokenFile"].as_str().unwrap()).unwrap();
    let metric = |name: &str| -> f64 {
        let mut curl = Program::new("curl");
        curl.args(["--silent", "--fail", "--header", &format!("Authorization: Bearer {}", token.trim()), &url]);
        let page = curl.succeed();
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {page}")).parse().unwrap()
    };
    let before = metric("taskyard_database_round_trips_total");
    assert!(before > 0.0 && metric("taskyard_database_round_trips_total") > before);
    assert!(metric("taskyard_lock_wait_seconds_total") >= 0.0);
    let reconnects = metric("taskyard_database_reconnects_total");
    cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'taskyard'");
    wait_until("a new connection", || metric("taskyard_database_reconnects_total") > reconnects);
    server.kill();
}

/// Starts a session of `psql` that is named after what it does.
fn psql(cluster: &Cluster) -> taskyard_testkit::Process {
    let mut psql = Program::new(postgres_program("psql"));
    psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]).env("PGAPPNAME", "holder");
    psql.arg(cluster.address()).stdin(Stdio::piped()).start()
}
