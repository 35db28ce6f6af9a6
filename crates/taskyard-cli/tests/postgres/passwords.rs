//! Passwords are not handed on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use taskyard_testkit::{Cluster, Home, SharedPostgres};

use crate::{ask, home, run};

/// Writes ana's password where PostgreSQL's programs look for it.
pub(crate) fn let_in_by_passfile(home: &Home, cluster: &Cluster) {
    let file = home.path().join(".pgpass");
    fs::write(&file, format!("127.0.0.1:{}:*:ana:s3cret\n", cluster.port())).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn work_and_job_run_refuse_where_their_commands_would_not_get_in() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let with_password = store.replace("postgres@", "postgres:s3cret@");
    let home = home();
    ask(&home, &store, "create one");
    for words in ["work -- true", "job run -- true"] {
        let ran = run(&home, &with_password, words);
        assert_eq!(ran.code, Some(2), "{words}: {ran:?}");
        assert!(ran.stderr.contains("~/.pgpass") && !ran.stderr.contains("s3cret"), "{words}: {ran:?}");
    }
    let file = home.path().join(".pgpass");
    fs::write(&file, "127.0.0.1:*:*:postgres:s3cret\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let told = home.path().join("told");
    fs::write(home.path().join("tell.sh"), format!("env > {}\n", told.display())).unwrap();
    ask(&home, &with_password, "work -- sh tell.sh");
    let told = fs::read_to_string(told).unwrap();
    assert!(told.contains(&format!("TASKYARD_STORE={store}")) && !told.contains("s3cret"), "{told}");
}
