//! The commands of `docs/scale.md`, to the letter.

use std::fs;
use std::process::Stdio;

use taskyard_testkit::{Cluster, Program, postgres_program, wait_until};

use crate::postgres::{ask, command, home};

/// Returns the commands of the page, in order.
fn commands_of_page() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.md");
    let page = fs::read_to_string(page).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
    lines.filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
}

#[test]
fn commands_of_the_page_run_in_order_beside_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql("CREATE DATABASE yard");
    let home = home();
    let commands = commands_of_page();
    assert!(commands.len() >= 15, "{commands:?}");
    let host = format!("127.0.0.1:{}", cluster.port());
    let script: String =
        commands.iter().map(|line| format!("{}\n", line.replace("HOST", &host).replace("DATABASE", "yard"))).collect();
    let mut path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    path.insert(0, postgres_program("psql").parent().unwrap().to_owned());
    path.insert(0, std::path::Path::new(env!("CARGO_BIN_EXE_taskyard")).parent().unwrap().to_owned());
    let mut shell = home.command("").like("bash");
    shell.args(["-euxo", "pipefail", "-c", &script]);
    shell.env("PATH", std::env::join_paths(path).unwrap()).env("PGUSER", "postgres");

    // A client that runs all the while goes on after the restore.
    let store = format!("postgres://postgres@{host}/yard");
    ask(&home, &store, "create before");
    let mut watching = command(&home, &store, "watch --json --since 0").stdout(Stdio::piped()).start();
    assert!(watching.line().unwrap().contains("before"));
    let ran = shell.run();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    ask(&home, &store, "create after");
    wait_until("the change after the restore", || watching.line().is_some_and(|line| line.contains("after")));
    watching.kill();
    let restored = format!("postgres://postgres@{host}/restored");
    assert!(ask(&home, &restored, "--list shared list").contains("Agree on the interface"));
    for store in [&store, &restored] {
        ask(&home, &store.replacen("postgres@", "team_a@", 1), "--list shared create more");
    }
}

#[test]
fn a_plain_dump_comes_back_under_on_error_stop() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let home = home();
    ask(&home, &cluster.address(), "create kept");
    ask(&home, &cluster.address(), "db init --role team_a --lists granted");
    ask(&home, &cluster.address(), "grant L team_a work");
    cluster.sql("CREATE DATABASE second");
    let dump = folder.path().join("yard.sql");
    let mut pg_dump = Program::new(postgres_program("pg_dump"));
    pg_dump.args(["--schema=taskyard", "--file"]).arg(&dump).arg(cluster.address()).succeed();
    let second = cluster.address().replace("/postgres", "/second").replace("//second@", "//postgres@");
    let mut psql = Program::new(postgres_program("psql"));
    psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", "--file"]);
    psql.arg(&dump).arg(&second).succeed();
    let theirs = second.replacen("postgres@", "team_a@", 1);
    ask(&home, &theirs, "done 1");
    assert!(ask(&home, &theirs, "history").contains("(team_a) updated"));
}
