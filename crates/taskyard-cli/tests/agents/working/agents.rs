//! Commands that do something about their task themselves, and others who do.

use std::fs;

use serde_json::Value;

use crate::working::site::{Site, await_end_of};

#[test]
fn an_agent_may_complete_its_own_task_whatever_it_exits_with() {
    for exit in [0, 1] {
        let site = Site::with(&["one", "two --blocked-by 1"]);
        let line = format!("$TASKYARD done $TASKYARD_TASK_ID --token $TASKYARD_TASK_TOKEN; exit {exit}");
        let ran = site.worked("--as ana", &line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.ends_with("2 completed\n"), "{ran:?}");
        assert_eq!(site.history("1").iter().filter(|entry| *entry == "ana update").count(), 1);
        assert!(site.notes("1").is_empty());
    }
}

#[test]
fn an_agent_that_has_completed_its_task_goes_on_until_it_ends() {
    let site = Site::with(&["one"]);
    let line = "$TASKYARD done 1 --token $TASKYARD_TASK_TOKEN; sleep 4; echo > end; echo to the end > end";
    let ran = site.worked("--as ana --ttl 3s", line);
    assert_eq!((ran.code, site.await_file("end").as_str()), (Some(0), "to the end"), "{ran:?}");
}

#[test]
fn completion_by_client_in_its_file_counts_as_the_agent() {
    let site = Site::with(&["one"]);
    let file = site.home.task_file("1");
    let line = format!("sed -i 's/in_progress/completed/' '{}'", file.display());
    let ran = site.worked("--as ana", &line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("1 completed\n"), "{ran:?}");
    let task: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(task["status"], "completed");
}

#[test]
fn task_completed_elsewhere_stops_its_command() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", "echo $$ > pid; sleep 600");
    let pid = site.await_file("pid");
    site.home.ask("done 1 --force --as ben");
    let ran = worker.end();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("lost #1 one: ben completed it\n"), "{ran:?}");
    await_end_of(&pid);
    assert_eq!(site.history("1").join(", "), "tester create, ana claim, ben update");
}

#[test]
fn a_task_that_is_taken_away_is_noticed_at_once() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", "echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done");
    let pid = site.await_file("pids");
    site.home.ask("update 1 --owner ben --force --as ben");
    await_end_of(&pid);
    let ran = worker.end();
    assert!(ran.stdout.contains("lost #1 one: ben has it now\n"), "{ran:?}");
    assert_eq!(site.task("1")["owner"], "ben");
}

#[test]
fn a_task_that_is_removed_is_lost() {
    let site = Site::with(&["one"]);
    let worker = site.start("--as ana", "echo $$ > pid; sleep 600");
    let pid = site.await_file("pid");
    fs::remove_file(site.home.task_file("1")).unwrap();
    await_end_of(&pid);
    let ran = worker.end();
    assert!(ran.stdout.contains("lost #1 one: it was removed\n"), "{ran:?}");
    assert_eq!(ran.code, Some(3));
}
