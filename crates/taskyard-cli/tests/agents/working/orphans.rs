//! What a worker started, when the worker is killed: nothing of it runs on.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use taskyard_testkit::{is_once_within, wait_until};

use crate::working::site::{Site, await_end_of};

/// Ways to live on. Each writes the numbers of the processes that must be gone to `pids`.
const TRICKS: &[(&str, usize, &str)] = &[
    ("does nothing", 1, "echo $$ >> pids; exec sleep 600"),
    ("ignores the wish", 1, "trap '' TERM HUP INT; echo $$ >> pids; while :; do sleep 0.1; done"),
    ("forks", 2, "sleep 600 & echo $! >> pids; echo $$ >> pids; wait"),
    ("leaves its session", 1, "setsid sh -c 'echo $$ >> pids; exec sleep 600' & wait"),
    (
        "leaves as a daemon without environment",
        1,
        "(env -i PATH=\"$PATH\" setsid sh -c 'cd /; exec > /dev/null 2>&1 < /dev/null; trap \"\" TERM HUP; \
         echo $$ >> '$PWD/pids'; while :; do sleep 0.1; done' &) ; sleep 600",
    ),
];

/// Waits until so many processes have said their numbers, and returns them.
fn await_pids(site: &Site, count: usize) -> Vec<String> {
    let read = || -> Vec<String> {
        let text = fs::read_to_string(site.path("pids")).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
    };
    wait_until("processes to start", || read().len() >= count);
    read()
}

#[test]
fn nothing_that_a_killed_worker_started_runs_on() {
    for (name, count, line) in TRICKS {
        let site = Site::with(&["one"]);
        let worker = site.start("--as ana", line);
        let pids = await_pids(&site, *count);
        worker.send(Signal::KILL);
        assert!(worker.end().was_killed(), "{name}");
        pids.iter().for_each(|pid| await_end_of(pid));
        assert_eq!(site.task("1")["status"], "pending", "{name}");
    }
}

#[test]
fn nothing_that_a_stopped_worker_started_runs_on() {
    for (name, count, line) in TRICKS.iter().filter(|(name, ..)| !name.contains("ignores")) {
        let site = Site::with(&["one"]);
        let worker = site.start("--as ana", line);
        let pids = await_pids(&site, *count);
        worker.send(Signal::INT);
        // Some of them will not end for a wish: the second signal is for those.
        if name.contains("daemon") {
            worker.send(Signal::INT);
        }
        assert_eq!(worker.end().code, Some(130), "{name}");
        pids.iter().for_each(|pid| await_end_of(pid));
    }
}

#[test]
fn command_ends_when_all_of_our_processes_are_killed() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", "echo $$ >> pids; exec sleep 600");
    let pids = await_pids(&site, 1);
    let stat = fs::read_to_string(format!("/proc/{}/stat", pids[0])).unwrap();
    let attendant: i32 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
    worker.send(Signal::STOP);
    kill_process(Pid::from_raw(attendant).unwrap(), Signal::KILL).unwrap();
    worker.send(Signal::KILL);
    assert!(worker.end().was_killed());
    await_end_of(&pids[0]);
}

#[test]
fn a_worker_whose_list_and_data_are_removed_ends() {
    // It looks at its leases once a minute however quiet it is; this is sooner.
    is_once_within(Duration::from_secs(30), "the end of a worker without a list", || {
        let site = Site::with(&["one", "two"]);
        let worker = site.start("-j 2 --as ana", "echo $$ >> pids; exec sleep 600");
        let pids = await_pids(&site, 2);
        let removed = Instant::now();
        for folder in [".claude", "data"] {
            fs::remove_dir_all(site.path(folder)).unwrap();
        }
        let ran = worker.end();
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stdout.ends_with("2 lost (#1, #2)\n"), "{ran:?}");
        pids.iter().for_each(|pid| await_end_of(pid));
        removed.elapsed()
    });
}

#[test]
fn a_job_that_a_command_started_outlives_the_worker() {
    let site = Site::with(&["one"]);
    let line = "$TASKYARD job run --name inner -- sleep 600 > out && echo up > up; exec sleep 600";
    let worker = site.start("--as ana", line);
    site.await_file("up");
    worker.send(Signal::KILL);
    assert!(worker.end().was_killed());
    let job = || site.home.ask("job list")["jobs"][0].clone();
    assert_eq!(job()["status"], "running");
    site.home.ask("job stop inner");
    assert_eq!(job()["status"], "killed");
}

#[test]
fn how_a_command_ends_is_told_truthfully() {
    let site = Site::with(&["one", "two", "three"]);
    let line = "case $TASKYARD_TASK_ID in 1) exit 42;; 2) kill -SEGV $$;; 3) cat > stdin;; esac";
    let ran = site.worked("--retries 0", line);
    assert!(ran.stdout.contains("exit status 42") && ran.stdout.contains("signal 11"), "{ran:?}");
    assert_eq!(site.task("3")["status"], "completed");
    let read: serde_json::Value = serde_json::from_str(&fs::read_to_string(site.path("stdin")).unwrap()).unwrap();
    assert_eq!(read["subject"], "three");
}
