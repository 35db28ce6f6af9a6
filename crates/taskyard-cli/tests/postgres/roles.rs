//! Roles of the database: which one did what, and what each may do.

use std::fs;

use serde_json::Value;
use taskyard_testkit::{Cluster, Program, postgres_program, wait_until};

use crate::{ask, home, run};

#[test]
fn history_names_the_database_user() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql("CREATE ROLE second LOGIN SUPERUSER");
    let home = home();
    ask(&home, &cluster.address(), "create first");
    ask(&home, &cluster.address().replace("postgres@", "second@"), "create second --as ana");
    let history: Value = serde_json::from_str(&ask(&home, &cluster.address(), "history --json")).unwrap();
    let users = ["0", "1"].map(|place| history.pointer(&format!("/entries/{place}")).unwrap()["dbUser"].clone());
    assert_eq!(users, ["postgres", "second"]);
    assert!(ask(&home, &cluster.address(), "history").contains("ana (second) created"));
}

#[test]
fn a_role_with_the_least_rights_can_work_and_change_no_history() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let home = home();
    let theirs = cluster.address().replace("postgres@", "agents@");
    cluster.sql("CREATE ROLE agents LOGIN");
    let ran = run(&home, &theirs, "create first");
    assert!(ran.stderr.contains("permission denied"), "{ran:?}");
    ask(&home, &cluster.address(), "create first");
    let ran = run(&home, &theirs, "list");
    assert!(ran.stderr.contains("permission denied") && ran.stderr.contains("db init --role"), "{ran:?}");
    for _ in 0..2 {
        ask(&home, &cluster.address(), "db init --role agents");
    }
    let refused = run(&home, &theirs, "db init --role agents");
    assert!(refused.code == Some(3) && refused.stderr.contains("`postgres` does"), "{refused:?}");
    for words in [
        "create second",
        "claim 1 --as ana",
        "done 1 --as ana",
        "delete 2",
        "team create alpha --as boss",
        "team join alpha --as ana",
        "send hello --to ana --as boss",
        "inbox --as ana",
        "history",
        "create third",
        "work -- true",
    ] {
        ask(&home, &theirs, words);
    }
    // Everything is old at once, and the role may not thin the journal.
    fs::create_dir_all(home.path().join(".config/taskyard")).unwrap();
    fs::write(home.path().join(".config/taskyard/taskyard.toml"), "[journal]\nkeep = \"0s\"\n").unwrap();
    wait_until("the journal to be old", || {
        let ran = run(&home, &theirs, "gc");
        assert!(ran.code == Some(0) || ran.stderr.contains("permission denied"), "{ran:?}");
        ran.code == Some(1)
    });
    let mut psql = Program::new(postgres_program("psql"));
    let forged = psql.arg(&theirs).args(["--command", "UPDATE taskyard.changes SET actor = 'eve'"]).output();
    assert!(!forged.status.success(), "{forged:?}");
    let mut psql = Program::new(postgres_program("psql"));
    let forged = "INSERT INTO taskyard.changes (list, revision, place, at, actor, op, task, db_user)
        VALUES (1, 99, 0, 0, 'eve', 'create', '9', 'postgres')";
    let forged = psql.arg(&theirs).args(["--command", forged]).output();
    assert!(!forged.status.success(), "{forged:?}");
}
