//! A worker that dies or sleeps too long, and what becomes of its task.

use std::io::BufRead as _;

use rustix::process::Signal;
use serde_json::Value;
use taskyard_testkit::{Process, Ran, finishes};

use crate::working::site::{Site, Worker, await_end_of};

/// A line of shell that says what a late writer would need, and takes its time.
const BUSY: &str = "echo $TASKYARD_TASK_TOKEN > token; exec sleep 600";

/// Reports the task done with a lease of long ago, as an agent that wakes up late.
fn write_late(site: &Site, token: &str) -> Ran {
    site.home.command(&format!("done 1 --token {token} --as ana --json")).run()
}

#[test]
fn task_of_killed_worker_is_free_and_late_write_refused() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", BUSY);
    let token = site.await_file("token");
    worker.send(Signal::KILL);
    assert!(worker.end().was_killed());

    let task = site.task("1");
    assert_eq!((task["status"].as_str(), task["owner"].as_str()), (Some("pending"), None));
    let entries = site.home.ask("history 1")["entries"].clone();
    let last = entries.as_array().unwrap().last().unwrap();
    assert_eq!((last["op"].as_str(), last["actor"].as_str()), (Some("expire"), Some("ana")));
    assert!(last["notice"].as_str().unwrap().starts_with("ana was terminated. 1 task(s) were unassigned: #1 \"one\"."));

    let taken = site.home.ask("claim --next --as ben");
    assert!(taken["token"].as_u64() > token.parse().ok());
    let late = write_late(&site, &token);
    assert_eq!(late.code, Some(3), "{late:?}");
    let late = late.json();
    assert_eq!((late["error"]["code"].as_str(), late["error"]["holder"].as_str()), (Some("stale_token"), Some("ben")));
    let task = site.task("1");
    assert_eq!((&task["status"], task["owner"].as_str()), (&taken["task"]["status"], Some("ben")));
}

#[test]
fn another_worker_takes_what_a_killed_one_had() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", BUSY);
    let token = site.await_file("token");
    worker.send(Signal::KILL);
    worker.end();
    let ran = site.worked("--as ben", "true");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.history("1").join(", "), "tester create, ana claim, ana expire, ben claim, ben update");
    assert_eq!(write_late(&site, &token).json()["error"]["code"], "stale_token");
}

#[test]
fn watching_or_waiting_command_notices_a_death_itself() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", BUSY);
    site.await_file("token");
    let mut watch = site.home.command("watch --since 0 --json").start();
    let mut lines = lines_of(&mut watch);
    let _watch = Worker::of(watch);
    let waiting = Worker::of(site.home.command("claim --next --wait --as ben --json").start());
    for op in ["create", "claim"] {
        assert_eq!(lines.next().unwrap()["op"], op);
    }
    worker.send(Signal::KILL);
    worker.end();
    let (expiry, claim) = finishes(move || (lines.next().unwrap(), lines.next().unwrap()));
    assert_eq!((expiry["op"].as_str(), expiry["task"].as_str()), (Some("expire"), Some("1")));
    assert_eq!((claim["op"].as_str(), claim["actor"].as_str()), (Some("claim"), Some("ben")));
    assert_eq!(waiting.end().json()["claimed"], true);
}

#[test]
fn a_watcher_alone_notices_a_death() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", BUSY);
    site.await_file("token");
    let mut watch = site.home.command("watch --since 2 --json").start();
    let mut lines = lines_of(&mut watch);
    let _watch = Worker::of(watch);
    worker.send(Signal::KILL);
    worker.end();
    let expiry = finishes(move || lines.next().unwrap());
    assert_eq!((expiry["op"].as_str(), expiry["task"].as_str()), (Some("expire"), Some("1")));
}

#[test]
fn suspended_worker_loses_expired_task_and_writes_nothing() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana --ttl 5s", "echo $$ > pid; sleep 600");
    let pid = site.await_file("pid");
    worker.send(Signal::STOP);
    let taken = site.home.command("claim --next --wait --timeout 5m --as ben --json").run();
    assert_eq!(taken.json()["claimed"], true, "{taken:?}");
    let before = site.history("1");
    worker.send(Signal::CONT);
    let ran = worker.end();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("lost #1 one: ben has it now\n"), "{ran:?}");
    assert!(ran.stdout.ends_with("1 lost (#1)\n"), "{ran:?}");
    await_end_of(&pid);
    assert_eq!(site.history("1"), before);
    assert_eq!(site.task("1")["owner"], "ben");
    assert!(site.notes("1").is_empty());
}

#[test]
fn suspended_worker_does_not_complete_task_of_another() {
    let site = Site::with(&["one"]);
    let line = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done";
    let worker = site.start("--as ana --ttl 5s", line);
    let pid = site.await_file("pid");
    worker.send(Signal::STOP);
    let taken = site.home.command("claim --next --wait --timeout 5m --as ben --json").run();
    assert_eq!(taken.json()["claimed"], true, "{taken:?}");
    site.allow("go");
    await_end_of(&pid);
    worker.send(Signal::CONT);
    let ran = worker.end();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let task = site.task("1");
    assert_eq!((task["status"].as_str(), task["owner"].as_str()), (Some("in_progress"), Some("ben")));
}

#[test]
fn a_lease_is_renewed_while_the_command_runs() {
    let site = Site::with(&["one"]);
    let ran = site.worked("--as ana --ttl 4s", "sleep 9");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.history("1").join(", "), "tester create, ana claim, ana update");
}

fn lines_of(child: &mut Process) -> impl Iterator<Item = Value> + Send + 'static {
    let lines = child.take_output().lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}
