//! The supervisor of a command: what it leaves alone, what it ends, and that it keeps nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, Read as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use taskyard_testkit::{finishes, wait_until};

use crate::working::site::{Site, Worker, await_end_of};

/// Returns the process that started another one.
fn parent_of(pid: &str) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
    Pid::from_raw(parent).unwrap()
}

/// Returns the time that a process has used.
fn times_of(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2).collect::<Vec<_>>().join(" ")
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn nothing_is_recorded_or_kept_of_a_command() {
    let site = Site::with(&["one", "two"]);
    let ran = site.worked("--retries 0", "echo words; test $TASKYARD_TASK_ID = 1");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(site.home.ask("job list")["jobs"].as_array().unwrap().len(), 0);
    assert!(!site.path("data/jobs").exists());
    assert!(!site.path("data/machine.sqlite").exists());
}

#[test]
fn leftover_processes_are_left_alone_and_heard() {
    let site = Site::with(&["one", "two --blocked-by 1"]);
    let line = "case $TASKYARD_TASK_ID in \
        1) sh -c 'echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo later; echo said > said; exec sleep 600 > slept 2>&1' & ;; \
        2) touch go; while [ ! -e said ]; do sleep 0.02; done ;; esac";
    let ran = site.worked("", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("#1 | later\n"), "{ran:?}");
    let pid = site.await_file("pid");
    assert!(is_alive(&pid));
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_command_that_ends_by_itself_does_not_wait_for_what_it_left() {
    let site = Site::with(&["one"]);
    let ran = site.worked("", "sleep 600 & echo $! > pid; echo words");
    assert!(ran.stdout.contains("#1 | words\n"), "{ran:?}");
    let pid = site.await_file("pid");
    assert!(is_alive(&pid));
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn output_is_passed_on_whatever_it_is() {
    let site = Site::with(&["one", "two", "three"]);
    let line = "case $TASKYARD_TASK_ID in 1) printf 'no end';; 2) head -c 100000 /dev/zero | tr '\\0' x;; \
        3) printf 'a\\377\\000b\\n'; printf 'to stderr' >&2;; esac";
    let ran = site.worked("", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("#1 | no end\n"), "{ran:?}");
    let long: usize = ran.stdout.lines().filter(|line| line.starts_with("#2 | x")).map(|line| line.len() - 5).sum();
    assert_eq!(long, 100_000);
    assert!(ran.stdout.contains("#3 | a\u{fffd}"), "{ran:?}");
    assert!(ran.stdout.contains("#3 | to stderr\n"), "{ran:?}");
}

#[test]
fn a_command_ends_although_nobody_takes_what_it_writes() {
    let site = Site::with(&["one"]);
    let line = "echo $$ > pid; trap 'echo asked > asked; exit 0' TERM; while :; do echo much and more of it; done";
    let mut work = site.work("", line);
    let mut child = work.stdout(Stdio::piped()).stderr(Stdio::piped()).start();
    let mut stdout = child.take_output();
    let worker = Worker::of(child);
    let pid = site.await_file("pid");
    // The pipe, the lines that wait to be shown, and then the pipe of the command are full: it waits, and so do we.
    let (mut used, mut same) = (String::new(), 0);
    wait_until("the command to be stuck", || {
        let now = times_of(&pid);
        (same, used) = (if now == used { same + 1 } else { 0 }, now);
        same == 40
    });
    worker.send(Signal::TERM);
    await_end_of(&pid);
    let reading = std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()).unwrap());
    assert_eq!(worker.end().code, Some(143));
    assert!(finishes(move || reading.join().unwrap()) > 0);
    assert_eq!(site.task("1")["status"], "pending");
}

#[test]
fn closed_reader_ends_the_command_and_releases_the_task() {
    let site = Site::with(&["one"]);
    let mut work = site.work("", "echo $$ > pid; echo first; while :; do echo again; sleep 0.02; done");
    let mut child = work.stdout(Stdio::piped()).start();
    let mut line = String::new();
    child.take_output().read_line(&mut line).unwrap();
    let worker = Worker::of(child);
    let pid = site.await_file("pid");
    worker.end();
    await_end_of(&pid);
    let task = site.task("1");
    assert_eq!((task["status"].as_str(), task["owner"].as_str()), (Some("pending"), None));
}

#[test]
fn a_hang_up_gives_the_task_back_like_any_other_signal() {
    let site = Site::with(&["one"]);
    let worker = site.start("", "echo $$ > pid; exec sleep 600");
    let pid = site.await_file("pid");
    worker.send(Signal::HUP);
    assert_eq!(worker.end().code, Some(129));
    await_end_of(&pid);
    assert_eq!(site.task("1")["status"], "pending");
}

#[test]
fn command_ignoring_sigterm_is_killed_at_its_deadline() {
    let site = Site::with(&["one"]);
    let line =
        "trap '' TERM; (trap '' TERM; exec sleep 600) & echo $! > child; echo $$ > pid; while :; do sleep 0.1; done";
    let worker = site.start("", line);
    let pids = [site.await_file("child"), site.await_file("pid")];
    let asked = Instant::now();
    worker.send(Signal::TERM);
    assert_eq!(worker.end().code, Some(143));
    assert!(asked.elapsed() >= Duration::from_secs(5), "it had its time");
    pids.iter().for_each(|pid| await_end_of(pid));
    assert_eq!(site.notes("1"), ["interrupted: `taskyard work` was stopped"]);
}

#[test]
fn lost_lease_ends_the_command_tree_and_writes_nothing() {
    let site = Site::with(&["one"]);
    let line = "setsid sh -c 'echo $$ > child; exec sleep 600' & echo $$ > pid; exec sleep 600";
    let worker = site.start("--as ana", line);
    let pids = [site.await_file("child"), site.await_file("pid")];
    site.home.ask("update 1 --owner ben --status in_progress --force");
    let ran = worker.end();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    pids.iter().for_each(|pid| await_end_of(pid));
    assert_eq!(site.task("1")["owner"], "ben");
}

#[test]
fn a_suspended_supervisor_still_hears_the_wish_to_end() {
    let site = Site::with(&["one"]);
    let worker = site.start("", "trap 'echo bye > bye; exit 0' TERM; echo $$ > pid; while :; do sleep 0.02; done");
    let pid = site.await_file("pid");
    kill_process(parent_of(&pid), Signal::STOP).unwrap();
    worker.send(Signal::TERM);
    assert_eq!(worker.end().code, Some(143));
    assert_eq!(site.await_file("bye"), "bye");
    await_end_of(&pid);
}

#[test]
fn killed_supervisor_takes_its_command_and_attempt_fails() {
    let site = Site::with(&["one"]);
    let line = "setsid sh -c 'echo $$ > child; exec sleep 600' & echo $$ > pid; exec sleep 600";
    let worker = site.start("--retries 0", line);
    let pids = [site.await_file("child"), site.await_file("pid")];
    kill_process(parent_of(&pids[1]), Signal::KILL).unwrap();
    let ran = worker.end();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    pids.iter().for_each(|pid| await_end_of(pid));
    assert!(site.notes("1")[0].starts_with("ended by signal 9"), "{:?}", site.notes("1"));
}

/// Waits for a supervisor of a worker that has stopped itself before its command began.
fn stopped_supervisor(worker: &Worker, besides: &[Pid]) -> Pid {
    let mut found = None;
    wait_until("a supervisor to come up", || {
        let processes =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let stats = processes
            .filter_map(|pid| Some((pid.parse().ok()?, fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)));
        let is_it = |(pid, stat): &(i32, String)| {
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let mut words = rest.split_whitespace();
            let is_stopped = words.next() == Some("T");
            is_stopped
                && words.next() == Some(&worker.id().to_string())
                && !besides.iter().any(|known| known.as_raw_nonzero().get() == *pid)
        };
        found = stats.filter(|found| is_it(found)).find_map(|(pid, _)| Pid::from_raw(pid));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn supervisor_killed_at_startup_is_retried() {
    let site = Site::with(&["one", "two"]);
    let mut work = site.work("--retries 0", "echo ran >> ran");
    work.env("TASKYARD_FAILPOINTS", "tied: coming up=stop").stdout(Stdio::piped()).stderr(Stdio::piped());
    let worker = Worker::of(work.start());
    let mut seen = Vec::new();
    // Every other one dies; each that lives runs its command once.
    for lives in [false, false, true, false, true] {
        let supervisor = stopped_supervisor(&worker, &seen);
        assert!(!site.path("ran").exists() || seen.len() > 2, "the command began before its supervisor did");
        kill_process(supervisor, if lives { Signal::CONT } else { Signal::KILL }).unwrap();
        seen.push(supervisor);
    }
    let ran = worker.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.await_file("ran"), "ran\nran");
    for id in ["1", "2"] {
        assert_eq!(site.task(id)["status"], "completed");
        assert_eq!(site.notes(id), Vec::<String>::new());
    }
}

#[test]
fn failing_supervisors_end_work_and_release_the_task() {
    let site = Site::with(&["one"]);
    let mut work = site.work("--retries 0", "echo ran >> ran");
    work.env("TASKYARD_FAILPOINTS", "tied: coming up=kill").stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Worker::of(work.start()).end();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("supervisor did not come up"), "{ran:?}");
    assert_eq!(site.task("1")["status"], "pending");
    assert!(!site.path("ran").exists());
}

#[test]
fn twenty_at_once_end_with_a_killed_worker() {
    let tasks: Vec<String> = (1..=20).map(|number| format!("task{number}")).collect();
    let site = Site::with(&tasks.iter().map(String::as_str).collect::<Vec<_>>());
    let worker = site
        .start("-j 20", "setsid sleep 600 & echo $! > child-$TASKYARD_TASK_ID; echo $$ > pid-$TASKYARD_TASK_ID; wait");
    let name = |kind: &str, number| format!("{kind}-{number}");
    let pids: Vec<String> =
        (1..=20).flat_map(|number| ["child", "pid"].map(|kind| site.await_file(&name(kind, number)))).collect();
    worker.send(Signal::KILL);
    assert!(worker.end().was_killed());
    pids.iter().for_each(|pid| await_end_of(pid));
}

#[test]
fn many_at_once_need_few_files_each() {
    let tasks: Vec<String> = (1..=40).map(|number| format!("task{number}")).collect();
    let site = Site::with(&tasks.iter().map(String::as_str).collect::<Vec<_>>());
    // All of them run at the same time before the first one ends: the last one that comes lets all of them go. Each takes three files, and
    // while it is started some more.
    let line = "touch at-$TASKYARD_TASK_ID; [ $(ls | grep -c ^at-) -lt 40 ] || touch go; while [ ! -e go ]; do sleep 0.2; done";
    let work = site.work("-j 40", line);
    let ran = Worker::of(work.limited("ulimit -n 200").stdout(Stdio::piped()).stderr(Stdio::piped()).start()).end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
