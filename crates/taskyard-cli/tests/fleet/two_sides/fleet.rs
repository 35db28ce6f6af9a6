//! Servers on machines that share nothing but a database: made from one image, so that only their runs differ.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};
use taskyard_testkit::{Cluster, Home, Program, SharedPostgres, wait_until};

use crate::two_sides::servers::Server;
use crate::two_sides::side::{SILENCE, STORE, in_another_run, on, throughout_a_silence};

/// Two machines and their database.
pub(crate) struct Fleet {
    pub(crate) store: String,
    pub(crate) one: Home,
    pub(crate) two: Home,
}

impl Fleet {
    /// Makes them, with tasks.
    pub(crate) fn new(store: String, tasks: &[&str]) -> Self {
        let [one, two] = [(); 2].map(|()| Home::new(env!("CARGO_BIN_EXE_taskyard")));
        let fleet = Self { store, one, two };
        for task in tasks {
            fleet.ask_two(&format!("create {task}"));
        }
        fleet
    }

    /// Starts a server on the first machine, which has claimed a task.
    fn server(&self, agent: &str, task: &str) -> Server {
        let mut server = Server::started(self.on_one(&format!("mcp --as {agent}")));
        let claimed = server.call("TaskClaim", json!({ "taskId": task }));
        assert_ne!(claimed["isError"], json!(true), "{claimed}");
        server
    }

    /// Returns a command on the first machine.
    pub(crate) fn on_one(&self, words: &str) -> Program {
        let mut command = on(&self.one, words);
        command.env(STORE, &self.store);
        command
    }

    /// Returns a command on the second machine.
    pub(crate) fn on_two(&self, words: &str) -> Program {
        let mut command = on(&self.two, words);
        command.env(STORE, &self.store).env("TASKYARD_FAILPOINTS", in_another_run());
        command
    }

    /// Runs a command on the second machine, and returns its JSON answer.
    pub(crate) fn ask_two(&self, words: &str) -> Value {
        self.on_two(&format!("{words} --json")).run().json()
    }

    /// Tells whether ben, on the second machine, gets a task.
    fn is_won_by_ben(&self, task: &str) -> bool {
        self.ask_two(&format!("claim {task} --as ben"))["claimed"] == true
    }

    /// Tells what a statement finds in the schema of the yard, for which `@` stands.
    fn sql(&self, cluster: &Cluster, statement: &str) -> String {
        let schema = self.store.rsplit_once("schema=").map_or("taskyard", |(_, schema)| schema);
        cluster.sql(&statement.replace('@', schema))
    }
}

#[test]
fn an_agent_keeps_its_task_while_its_server_runs() {
    let shared = SharedPostgres::get();
    let fleet = Fleet::new(shared.fresh_address(), &["One", "Two"]);
    let mut server = fleet.server("ana", "1");
    server.call("TaskClaim", json!({ "taskId": "2" }));
    // Both were claimed two hours ago.
    let earlier = "UPDATE @.leases SET body = jsonb_set(body::jsonb, '{taken}',
        ((body::jsonb ->> 'taken')::bigint - 7200000)::text::jsonb)::text";
    fleet.sql(shared.cluster(), earlier);
    throughout_a_silence("that ana has both", || !fleet.is_won_by_ben("1") && !fleet.is_won_by_ben("2"));
    assert_eq!(fleet.sql(shared.cluster(), "SELECT agent FROM @.alive"), "ana", "one row for all it holds");
}

#[test]
fn what_a_dead_server_held_comes_back_to_other_machines() {
    let fleet = Fleet::new(SharedPostgres::get().fresh_address(), &["One"]);
    let server = fleet.server("ana", "1");
    server.signal(Signal::KILL);
    let killed = Instant::now();
    assert!(!fleet.is_won_by_ben("1"), "nobody there can see that it is dead");
    wait_until("the end of the lease", || fleet.is_won_by_ben("1"));
    // It sent its last heartbeat no longer before its death than heartbeats lie apart.
    assert!(killed.elapsed() > SILENCE / 2, "{:?}", killed.elapsed());
}

#[test]
fn a_suspended_server_loses_its_task_and_notices() {
    let fleet = Fleet::new(SharedPostgres::get().fresh_address(), &["One"]);
    let mut server = fleet.server("ana", "1");
    server.signal(Signal::STOP);
    wait_until("the end of the lease", || fleet.is_won_by_ben("1"));
    server.signal(Signal::CONT);
    let refused = server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(refused.to_string().contains("ben"), "{refused}");
    let shown = fleet.ask_two("show 1");
    assert_eq!((&shown["task"]["owner"], &shown["task"]["status"]), (&json!("ben"), &json!("in_progress")), "{shown}");
}

#[test]
fn a_suspended_worker_completes_nothing_that_is_anothers() {
    let fleet = Fleet::new(SharedPostgres::get().fresh_address(), &["One"]);
    let go_on = fleet.one.path().join("go-on");
    fs::write(fleet.one.path().join("wait.sh"), format!("until [ -e {} ]; do sleep 0.05; done", go_on.display()))
        .unwrap();
    let mut worker = fleet.on_one("work --as ana -- sh wait.sh").start();
    wait_until("the claim", || fleet.ask_two("show 1")["task"]["owner"] == "ana");
    worker.signal(Signal::STOP);
    wait_until("the end of the lease", || fleet.is_won_by_ben("1"));
    fs::write(go_on, "").unwrap();
    worker.signal(Signal::CONT);
    worker.wait();
    let shown = fleet.ask_two("show 1");
    assert_eq!((&shown["task"]["owner"], &shown["task"]["status"]), (&json!("ben"), &json!("in_progress")), "{shown}");
}

/// A database server of its own whose clock a test sets.
struct SetClock {
    cluster: Cluster,
    clock: PathBuf,
    _folder: tempfile::TempDir,
}

impl SetClock {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Cluster::make(folder.path(), &["fsync = off"]).stop_when_dropped();
        cluster.stop("fast");
        let clock = folder.path().join("clock");
        fs::write(&clock, "+0\n").unwrap();
        let places = fs::read_dir("/usr/lib").unwrap().flatten();
        let library =
            places.map(|place| place.path().join("faketime/libfaketime.so.1")).find(|library| library.exists());
        cluster.set_variable("LD_PRELOAD", &library.expect("libfaketime is there; scripts/test installs it"));
        cluster.set_variable("FAKETIME_TIMESTAMP_FILE", &clock);
        for switch in ["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC", "DONT_FAKE_MONOTONIC"] {
            cluster.set_variable(switch, "1".as_ref());
        }
        cluster.start();
        Self { cluster, clock, _folder: folder }
    }

    fn set(&self, by: &str) {
        fs::write(&self.clock, format!("{by}\n")).unwrap();
    }
}

#[test]
fn a_database_clock_set_ahead_ends_leases_until_the_next_sign() {
    let server = SetClock::new();
    let fleet = Fleet::new(server.cluster.address(), &["One", "Two"]);
    let mut ana = fleet.server("ana", "1");
    // It sends no heartbeat between the jump and the look; one that was on its way may still come in after a jump.
    ana.signal(Signal::STOP);
    let is_won_after = |jump: u32| {
        server.set(&format!("+{}", jump * 600));
        fleet.is_won_by_ben("1")
    };
    assert!((1..=3).any(is_won_after), "it looks like ten minutes of silence");
    ana.signal(Signal::CONT);
    let refused = ana.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(refused.to_string().contains("ben"), "{refused}");
    ana.call("TaskClaim", json!({ "taskId": "2" }));
    throughout_a_silence("that ana has it", || !fleet.is_won_by_ben("2"));
}

#[test]
fn a_database_clock_set_back_does_not_keep_the_dead_alive() {
    let server = SetClock::new();
    server.set("+86400");
    let fleet = Fleet::new(server.cluster.address(), &["One", "Two"]);
    // Its clock is set back before cyd's server has sent a second heartbeat.
    let (ana, _cyd) = (fleet.server("ana", "1"), fleet.server("cyd", "2"));
    // A supervisor that has died is known by the report of its job.
    let report = "INSERT INTO @.jobs (job, list, agent, machine, host, process, state, began, output_size, tail, body, changed_at)
        SELECT 'j', 'l', agent, machine, '', '', 'running', 0, 0, '', '', seen_at FROM @.alive WHERE agent = 'ana'";
    fleet.sql(&server.cluster, report);
    ana.signal(Signal::KILL);
    server.set("+0");
    wait_until("the end of the lease", || fleet.is_won_by_ben("1"));
    assert!(!fleet.is_won_by_ben("2"), "cyd lives");
    let ahead = "SELECT count(*) FROM @.jobs WHERE changed_at > extract(epoch FROM clock_timestamp()) * 1000";
    assert_eq!(fleet.sql(&server.cluster, ahead), "0");
}
