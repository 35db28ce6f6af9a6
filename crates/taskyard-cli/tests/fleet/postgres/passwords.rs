//! Passwords are not handed on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use taskyard_testkit::{Cluster, Home, SharedPostgres};

use crate::postgres::{ask, command, home, run};

/// Writes ana's password where PostgreSQL's programs look for it.
pub(crate) fn let_in_by_passfile(home: &Home, cluster: &Cluster) {
    let file = home.path().join(".pgpass");
    fs::write(&file, format!("127.0.0.1:{}:*:ana:s3cret\n", cluster.port())).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn work_and_job_run_refuse_commands_that_could_not_connect() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let with_password = store.replace("postgres@", "postgres:s3cret@");
    let home = home();
    ask(&home, &store, "create one");
    for words in ["work -- true", "job run -- true"] {
        let ran = run(&home, &with_password, words);
        assert_eq!(ran.code, Some(2), "{words}: {ran:?}");
        assert!(ran.stderr.contains("~/.pgpass") && !ran.stderr.contains("s3cret"), "{words}: {ran:?}");
        let ran = command(&home, &store, words).env("PGPASSWORD", "s3cret").run();
        assert!(ran.code == Some(2) && ran.stderr.contains("~/.pgpass"), "{words}: {ran:?}");
    }
    let file = home.path().join(".pgpass");
    fs::write(&file, "127.0.0.1:*:*:postgres:s3cret\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let told = home.path().join("told");
    fs::write(home.path().join("tell.sh"), format!("env > {}\n", told.display())).unwrap();
    ask(&home, &with_password, "work -- sh tell.sh");
    let told = fs::read_to_string(told).unwrap();
    assert!(told.contains(&format!("TASKYARD_STORE={store}")) && !told.contains("s3cret"), "{told}");
    ask(&home, &store, "create two");
    let working = command(&home, &store, "work -- sh tell.sh").env("PGPASSWORD", "s3cret").output();
    assert!(working.status.success(), "{working:?}");
    let told = fs::read_to_string(home.path().join("told")).unwrap();
    assert!(told.contains("PGPASSWORD=\n") && !told.contains("s3cret"), "{told}");
}

#[test]
fn a_password_is_in_no_log_no_journal_and_no_file() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let with_password = store.replace("postgres@", "postgres:s3cret@");
    let home = home();
    for words in [
        "create one",
        "claim 1 --as ana",
        "list --json",
        "where --json",
        "team create alpha --as ana",
        "doctor",
        "history",
    ] {
        for (address, variable) in [(&with_password, ""), (&store, "s3cret")] {
            let mut command = command(&home, address, words);
            let ran = command.env("TASKYARD_LOG", "trace").env("PGPASSWORD", variable).run();
            assert!(!format!("{ran:?}").contains("s3cret"), "{words}: {ran:?}");
        }
    }
    for entry in walk(home.path()) {
        let contents = fs::read(&entry).unwrap();
        assert!(!contents.windows(6).any(|part| part == b"s3cret"), "{}", entry.display());
    }
    let schema = store.rsplit_once('=').unwrap().1;
    let dump = server.cluster().sql(&format!("SELECT * FROM {schema}.changes; SELECT * FROM {schema}.teams"));
    assert!(!dump.contains("s3cret"), "{dump}");
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(walk(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files
}
