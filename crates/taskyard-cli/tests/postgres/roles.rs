//! Roles of the database: which one did what, and what each may do.

use serde_json::Value;
use taskyard_testkit::Cluster;

use crate::{ask, home};

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
