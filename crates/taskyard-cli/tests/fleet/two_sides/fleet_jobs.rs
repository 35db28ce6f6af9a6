//! Jobs that run on one machine and are looked at, waited for and stopped from another, over a database.

use std::fs;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use taskyard_testkit::{Cluster, SharedPostgres, wait_until};

use crate::two_sides::fleet::Fleet;
use crate::two_sides::servers::Server;
use crate::two_sides::side::SILENCE;

/// The largest output that is kept in the database.
const TAIL: usize = 64 << 10;

/// Two machines, the first of which runs the job `j`.
struct Runs {
    fleet: Fleet,
    id: String,
}

impl Runs {
    /// Starts a shell script as the job, which finds `until_told`, to wait until [`Self::go_on`] is called. Returns when the second machine
    /// knows of it.
    fn script(store: String, script: &str) -> Self {
        let fleet = Fleet::new(store, &["One"]);
        let script = format!("until_told() {{ until [ -e go-on ]; do sleep 0.05; done; }}\n{script}\n");
        fs::write(fleet.one.path().join("job.sh"), script).unwrap();
        let started = fleet.on_one("job run --name j --task 1 --json -- sh job.sh").run();
        assert_eq!(started.code, Some(0), "{started:?}");
        let runs = Self { id: started.json()["job"]["id"].as_str().unwrap().to_owned(), fleet };
        wait_until("the job on the other machine", || runs.listed().is_some());
        runs
    }

    fn new(script: &str) -> Self {
        Self::script(SharedPostgres::get().fresh_address(), script)
    }

    /// Has the script go on.
    fn go_on(&self) {
        fs::write(self.fleet.one.path().join("go-on"), "").unwrap();
    }

    /// Returns the job as the second machine lists it.
    fn listed(&self) -> Option<Value> {
        let jobs = self.fleet.ask_two("job list")["jobs"].as_array().unwrap().clone();
        jobs.into_iter().find(|job| job["id"] == self.id.as_str())
    }

    fn status(&self) -> Value {
        self.listed().unwrap()["status"].clone()
    }

    /// Returns the job as its own machine knows it.
    fn own(&self) -> Value {
        self.fleet.on_one("job list --json").run().json()["jobs"][0].clone()
    }

    /// Waits until the second machine knows that the job wrote this many bytes.
    fn wait_for_bytes(&self, count: usize) {
        wait_until("the output", || self.listed().unwrap()["outputBytes"] == json!(count));
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[test]
fn a_job_is_shown_and_read_on_another_machine() {
    let runs = Runs::new("echo hello; until_told");
    runs.wait_for_bytes(6);
    let job = runs.listed().unwrap();
    let host = host_name();
    assert_eq!((&job["status"], &job["machine"]), (&json!("running"), &json!(host)), "{job}");
    assert_eq!(runs.own().get("machine"), None, "its own machine is not shown");
    let text = runs.fleet.on_two("job list --here --task 1").run().stdout;
    assert!(text.contains(&format!("on {host}")), "{text}");
    assert_eq!(runs.fleet.on_two("job output j").run().stdout, "hello\n");
    assert_eq!(runs.fleet.ask_two("job output j --offset 2")["output"], "llo\n");
    runs.go_on();
    wait_until("the end", || runs.status() == "completed");
    assert!(runs.fleet.ask_two("job output j")["output"].as_str().unwrap().starts_with("hello\n"));
}

#[test]
fn a_job_is_followed_and_waited_for_on_another_machine() {
    let runs = Runs::new("echo first; until_told; echo last; exit 7");
    let mut follower = runs.fleet.on_two("job output j --follow").start();
    let waiter = runs.fleet.on_two("job wait j --json").start();
    assert_eq!(follower.line().as_deref(), Some("first"));
    let early = runs.fleet.on_two("job wait j --timeout 10ms").run();
    assert_eq!(early.code, Some(124), "{early:?}");
    runs.go_on();
    assert_eq!(follower.line().as_deref(), Some("last"));
    assert_eq!(follower.end().code, Some(0));
    let waited = waiter.end();
    assert_eq!((waited.code, &waited.json()["job"]["status"]), (Some(7), &json!("failed")), "{waited:?}");
}

#[test]
fn older_output_comes_from_the_machine_of_the_job() {
    let lines: Vec<String> = (0..40_000).map(|number| format!("line {number}\n")).collect();
    let all = lines.concat();
    let runs = Runs::new("i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i + 1)); done; until_told");
    runs.wait_for_bytes(all.len());
    let read = runs.fleet.on_two("job output j").run();
    assert!(read.stdout == all, "{} of {} bytes: {}", read.stdout.len(), all.len(), read.stderr);
    assert_eq!(runs.fleet.ask_two("job output j --tail 2")["output"], lines[39_998..].concat());
    assert!(runs.fleet.on_two("job output j --tail 20000").run().stdout == lines[20_000..].concat());
    runs.go_on();
    wait_until("the end", || runs.status() == "completed");
    // The process that could be asked is gone.
    let answer = runs.fleet.ask_two("job output j");
    assert_eq!(answer["gap"], json!({ "from": 0, "to": all.len() - TAIL }), "{}", answer["job"]);
    assert!(answer["output"].as_str() == Some(&all[all.len() - TAIL..]));
    let text = runs.fleet.on_two("job output j").run().stdout;
    assert!(text.contains("bytes left out here; see "), "{}", &text[..200]);
    assert!(runs.fleet.on_one("job output j").run().stdout == all, "on its own machine all is there");
}

#[test]
fn a_job_is_stopped_from_another_machine() {
    let runs = Runs::new("sleep 600");
    let stopped = runs.fleet.ask_two("job stop j --as ben");
    assert_eq!((&stopped["stopped"], &stopped["job"]["status"]), (&json!(true), &json!("killed")), "{stopped}");
    assert_eq!(runs.own()["status"], "killed");
    let again = runs.fleet.on_two("job stop j --json").run();
    assert_eq!(again.json()["error"]["code"], "job_not_running", "{again:?}");
}

#[test]
fn tools_reach_jobs_of_other_machines() {
    let runs = Runs::new("echo hello; sleep 600");
    runs.wait_for_bytes(6);
    let mut server = Server::started(runs.fleet.on_two("mcp --as ben"));
    let read = server.call("TaskOutput", json!({ "task_id": runs.id, "block": false }));
    assert!(read.to_string().contains("hello"), "{read}");
    let stopped = server.call("TaskStop", json!({ "task_id": runs.id }));
    assert_ne!(stopped["isError"], json!(true), "{stopped}");
    assert_eq!(runs.own()["status"], "killed");
}

#[test]
fn the_web_board_reaches_jobs_of_other_machines() {
    let runs = Runs::new("echo hello; sleep 600");
    runs.wait_for_bytes(6);
    let board = taskyard_testkit::Server::start(&runs.fleet.two, &format!("--store {}", runs.fleet.store));
    let (head, page) = board.request("GET", "/lists/L/jobs");
    assert!(page.contains("hello") && page.contains(&format!("on {}", host_name())), "{head}\n{page}");
    let (head, stopped) = board.request("POST", &format!("/api/v1/jobs/{}/stop", runs.id));
    assert!(stopped.contains("\"killed\""), "{head}\n{stopped}");
    assert_eq!(runs.own()["status"], "killed");
}

#[test]
fn a_job_whose_supervisor_died_is_lost_everywhere() {
    let runs = Runs::new("echo hello; sleep 600");
    runs.wait_for_bytes(6);
    let supervisor = runs.own()["supervisor"].as_i64().unwrap();
    let waiter = runs.fleet.on_two("job wait j --json").start();
    kill_process(Pid::from_raw(supervisor.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    let killed = Instant::now();
    assert_eq!(runs.status(), "running", "nobody there can see that it is dead");
    let waited = waiter.end();
    assert_eq!((waited.code, &waited.json()["job"]["status"]), (Some(125), &json!("lost")), "{waited:?}");
    // It sent its last heartbeat no longer before its death than heartbeats lie apart.
    assert!(killed.elapsed() > SILENCE / 2, "{:?}", killed.elapsed());
    assert_eq!(runs.fleet.ask_two("job output j")["output"], "hello\n");
}

#[test]
fn jobs_run_and_end_while_the_database_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &["fsync = off"]).stop_when_dropped();
    let runs = Runs::script(cluster.address(), "echo first; until_told; echo last");
    runs.wait_for_bytes(6);
    let goes_on =
        runs.fleet.on_one("job run --name k --json -- sh -c").args(["until [ -e end ]; do sleep 0.05; done"]).run();
    assert_eq!(goes_on.code, Some(0), "{goes_on:?}");
    cluster.stop("immediate");
    runs.go_on();
    let waited = runs.fleet.on_one("job wait j --json").run();
    assert_eq!((waited.code, &waited.json()["job"]["status"]), (Some(0), &json!("completed")), "{waited:?}");
    let list = runs.fleet.on_one("job list --json").run();
    assert_eq!(list.json()["jobs"][1]["status"], "running", "{list:?}");
    assert!(list.stderr.contains("jobs of other machines are not shown"), "{list:?}");
    cluster.start();
    wait_until("the end of the first", || runs.listed().is_some_and(|job| job["status"] == "completed"));
    assert!(runs.fleet.on_two("job output j").run().stdout.starts_with("first\nlast\n"));
    wait_until("the second on the other machine", || runs.fleet.on_two("job output k").run().code == Some(0));
    fs::write(runs.fleet.one.path().join("end"), "").unwrap();
    let waited = runs.fleet.on_two("job wait k --json").run();
    assert_eq!((waited.code, &waited.json()["job"]["status"]), (Some(0), &json!("completed")), "{waited:?}");
}

#[test]
fn a_job_that_is_tidied_away_is_gone_everywhere() {
    let runs = Runs::new("true");
    wait_until("the end", || runs.status() == "completed");
    let tidied = runs.fleet.on_one("job gc --older-than 0s").run();
    assert_eq!(tidied.code, Some(0), "{tidied:?}");
    assert_eq!(runs.listed(), None);
    let refused = runs.fleet.on_two("job output j --json").run();
    assert_eq!(refused.json()["error"]["code"], "job_not_found", "{refused:?}");
    assert_eq!(runs.own(), Value::Null);
}
