//! Clocks of workers that are wrong, and that jump.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_testkit::{Program, Ran, SharedPostgres, wait_until};

use crate::postgres::{ask, command, home, run};

#[test]
fn worker_with_wrong_clock_neither_ends_nor_extends_leases() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let home = home();
    for subject in ["one", "two", "three"] {
        ask(&home, &store, &format!("create {subject}"));
    }
    ask(&home, &store, "claim 1 --as ana");
    for clock in ["+30d", "-30d"] {
        let refused = at(clock, command(&home, &store, "claim 1 --as ben"));
        assert!(refused.code != Some(0) && refused.stderr.contains("ana"), "{clock}: {refused:?}");
        let next = at(clock, command(&home, &store, "claim --next --as ben --json"));
        assert_eq!(next.code, Some(0), "{clock}: {next:?}");
        let refused = run(&home, &store, "claim 2 --as eve");
        assert!(refused.code != Some(0) && refused.stderr.contains("ben"), "{clock}: {refused:?}");
        assert_eq!(at(clock, command(&home, &store, "release 2 --as ben")).code, Some(0));
    }
    let schema = store.rsplit_once('=').unwrap().1;
    let strange = format!(
        "SELECT count(*) FROM {schema}.changes WHERE abs(at - extract(epoch FROM now()) * 1000) > 600000
        UNION ALL SELECT count(*) FROM {schema}.leases WHERE abs(ends_wall - extract(epoch FROM now()) * 1000) > 7200000"
    );
    assert_eq!(server.cluster().sql(&strange), "0\n0");
}

#[test]
fn a_clock_that_jumps_while_a_worker_works_changes_nothing() {
    let store = SharedPostgres::get().fresh_address();
    let home = home();
    ask(&home, &store, "create one");
    let (clock, begun, go_on) = (home.path().join("clock"), home.path().join("begun"), home.path().join("go-on"));
    fs::write(&clock, "+0d\n").unwrap();
    let script = format!("touch {}; until [ -e {} ]; do sleep 0.05; done", begun.display(), go_on.display());
    fs::write(home.path().join("wait.sh"), script).unwrap();
    let mut working = command(&home, &store, "work --as ana -- sh wait.sh");
    preload(&mut working).env("FAKETIME_TIMESTAMP_FILE", &clock).env("FAKETIME_NO_CACHE", "1");
    let mut working = working.start();
    wait_for(&begun);
    for jump in ["+10d\n", "-10d\n"] {
        fs::write(&clock, jump).unwrap();
        let refused = run(&home, &store, "claim 1 --as ben");
        assert!(refused.code != Some(0) && refused.stderr.contains("ana"), "{jump}: {refused:?}");
    }
    fs::write(&go_on, "").unwrap();
    assert!(working.wait().success());
    assert!(ask(&home, &store, "stats").contains("1 of 1 done"));
    let history = ask(&home, &store, "history");
    assert_eq!(history.matches("claim").count(), 1, "{history}");
}

/// Runs a command whose clock is elsewhere.
fn at(clock: &str, mut command: Program) -> Ran {
    preload(&mut command).env("FAKETIME", clock);
    command.run()
}

fn preload(command: &mut Program) -> &mut Program {
    let places =
        fs::read_dir("/usr/lib").unwrap().flatten().map(|place| place.path().join("faketime/libfaketime.so.1"));
    let library: Option<PathBuf> = places.into_iter().find(|library| library.exists());
    command.env("LD_PRELOAD", library.expect("libfaketime is there; scripts/test installs it"));
    // The clock that time-outs are measured by cannot be set.
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1")
}

fn wait_for(file: &Path) {
    wait_until(&file.display().to_string(), || file.exists());
}
