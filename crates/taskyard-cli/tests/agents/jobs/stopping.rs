//! Stopping a job leaves nothing of it alive, whatever it does to escape.

use serde_json::json;
use taskyard_testkit::{finishes, wait_until};

use crate::jobs::site::{Site, is_alive, kill};

/// Ways to escape. Each writes the numbers of the processes that must be gone to `pids`.
const TRICKS: &[(&str, usize, &str)] = &[
    ("forks", 2, "sleep 600 & echo $! >> pids; echo $$ >> pids; wait"),
    ("forks twice", 1, "(sh -c 'echo $$ >> pids; exec sleep 600' &) ; sleep 600"),
    ("ignores the wish", 1, "trap '' TERM; echo $$ >> pids; while :; do sleep 0.1; done"),
    (
        "passes the wish by",
        2,
        "sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 0.1; done' & echo $$ >> pids; wait",
    ),
    ("leaves its session", 1, "setsid sh -c 'echo $$ >> pids; exec sleep 600' & wait"),
    (
        "leaves as a daemon",
        1,
        "(setsid sh -c 'cd /; exec > /dev/null 2>&1 < /dev/null; trap \"\" TERM HUP; \
        echo $$ >> '$PWD/pids'; while :; do sleep 0.1; done' &) ; sleep 600",
    ),
    ("closes its output", 1, "exec >&- 2>&-; echo $$ >> pids; sleep 600"),
    (
        "forgets its environment",
        1,
        "(env -i PATH=\"$PATH\" setsid sh -c 'echo $$ >> pids; exec sleep 600' &) ; sleep 600",
    ),
    ("is suspended", 1, "sh -c 'echo $$ >> pids; kill -STOP $$; sleep 600' & wait"),
    (
        "hops from process to process",
        3,
        "echo 'echo $$ >> pids; sleep 0.01; sh ./hop & exit' > hop; (setsid sh ./hop &) ; sleep 600",
    ),
];

#[test]
fn nothing_escapes_a_stop() {
    for (name, count, line) in TRICKS {
        let site = Site::new();
        let id = site.start("", line);
        let before = site.await_pids(*count);
        let ran = site.run(&format!("job stop {id} --json"));
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let job = &ran.json()["job"];
        assert_eq!((&job["status"], &job["notified"]), (&json!("killed"), &json!(true)), "{name}");
        let alive: Vec<u32> = before.union(&site.await_pids(*count)).copied().filter(|pid| is_alive(*pid)).collect();
        assert_eq!(alive, [0; 0], "{name}");
        assert_eq!(site.processes(), [0; 0], "{name}");
        assert_eq!(site.run(&format!("job stop {id}")).code, Some(3), "{name}");
    }
}

#[test]
fn a_job_without_a_supervisor_is_ended_by_the_next_command() {
    for (name, count, line) in TRICKS {
        // A process that gives up environment, output and session at once cannot be found without a supervisor.
        if name.contains("forgets") {
            continue;
        }
        let site = Site::new();
        let id = site.start("", line);
        site.await_pids(*count);
        let supervisor = u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
        kill(supervisor);
        wait_until("the supervisor to end", || !is_alive(supervisor));
        let job = site.job(&id);
        assert_eq!((&job["status"], &job["exitCode"]), (&json!("lost"), &json!(null)), "{name}");
        let alive: Vec<u32> = site.await_pids(*count).into_iter().filter(|pid| is_alive(*pid)).collect();
        assert_eq!(alive, [0; 0], "{name}");
        assert_eq!(site.processes(), [0; 0], "{name}");
    }
}

#[test]
fn a_killed_supervisor_takes_the_command_with_it_at_once() {
    let site = Site::new();
    let id = site.start("", "echo $$ >> pids; exec sleep 600");
    let pid = *site.await_pids(1).first().unwrap();
    kill(u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap());
    wait_until("the command to end", || !is_alive(pid));
}

#[test]
fn a_supervisor_that_was_suspended_still_stops() {
    let site = Site::new();
    let id = site.start("", "echo $$ >> pids; exec sleep 600");
    site.await_pids(1);
    let supervisor = i32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
    let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::STOP).unwrap();
    let stop = site.command(&format!("job stop {id}")).start();
    assert!(finishes(move || stop.wait_with_output()).status.success());
    assert_eq!(site.job(&id)["status"], "killed");
}
