//! Tasks whose jobs fail or are lost.

use serde_json::Value;

use taskyard_testkit::wait_until;

use crate::jobs::server::Server;
use crate::jobs::site::{Site, is_alive, kill};

/// A command, and whether its answer is right.
type Look = (&'static str, fn(&Value) -> bool);

/// Returns a home with a task that is done, and a job of it that was lost since.
fn with_a_lost_job() -> (Site, String) {
    let site = Site::new();
    site.ask("create one");
    site.ask("claim 1");
    site.ask("done 1");
    let id = site.start("--task 1 --reopen-on-failure", "exec sleep 600");
    let supervisor = u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
    kill(supervisor);
    wait_until("the supervisor to end", || !is_alive(supervisor));
    (site, id)
}

#[test]
fn a_failing_job_opens_its_task_again_where_that_was_wished() {
    let site = Site::new();
    site.ask("create one");
    site.ask("claim 1");
    site.ask("done 1");
    let id = site.start("--task 1 --reopen-on-failure", "exit 1");
    assert_eq!(site.ended(&id)["task"], "1");
    wait_until("the task to be open", || site.ask("show 1")["task"]["status"] == "pending");
    assert_eq!(site.ask("show 1")["task"]["owner"], Value::Null);
    assert_eq!(site.ask("claim 1 --as ben")["claimed"], true);
    assert_eq!(site.ask("show 1")["jobs"][0]["id"], id.as_str());
    assert!(site.run("show 1").stdout.contains(&id));
    assert_eq!(site.run("job run --task 9 -- true").code, Some(4));
}

#[test]
fn lost_job_reopens_its_task_at_next_command() {
    let looks: [Look; 5] = [
        ("show 1", |answer| answer["task"]["status"] == "pending" && answer["jobs"][0]["status"] == "lost"),
        ("list", |answer| answer["tasks"][0]["status"] == "pending"),
        ("ready", |answer| answer["tasks"][0]["id"] == "1"),
        ("claim 1 --as ben", |answer| answer["claimed"] == true),
        ("job list", |answer| answer["jobs"][0]["status"] == "lost"),
    ];
    for (command, is_so) in looks {
        let (site, id) = with_a_lost_job();
        let answer = site.ask(command);
        assert!(is_so(&answer), "`{command}`: {answer}");
        let task = site.ask("show 1");
        assert_ne!(task["task"]["status"], "completed", "`{command}`");
        assert_eq!((&task["jobs"][0]["id"], &task["jobs"][0]["status"]), (&id.into(), &"lost".into()), "`{command}`");
    }
}

#[test]
fn lost_job_reopens_its_task_at_next_agent_call() {
    let (site, _) = with_a_lost_job();
    let mut server = Server::start(&site);
    let listing = server.call("TaskList", &serde_json::json!({}));
    assert!(listing.contains("#1 [pending] one"), "{listing}");
}

#[test]
fn task_of_lost_job_is_reopened_only_once() {
    let (site, _) = with_a_lost_job();
    assert_eq!(site.ask("show 1")["task"]["status"], "pending");
    site.ask("done 1");
    assert_eq!(site.ask("show 1")["task"]["status"], "completed");
    assert_eq!(site.ask("job list")["jobs"][0]["status"], "lost");
    assert_eq!(site.ask("show 1")["task"]["status"], "completed");
}

#[test]
fn a_job_that_completes_or_is_stopped_leaves_its_task_as_it_is() {
    let site = Site::new();
    site.ask("create one");
    site.ask("done 1");
    site.ended(&site.start("--task 1 --reopen-on-failure", "true"));
    let id = site.start("--task 1 --reopen-on-failure", "sleep 600");
    site.ask(&format!("job stop {id}"));
    assert_eq!(site.ask("show 1")["task"]["status"], "completed");
    // Nothing is left to look after.
    assert!(!std::fs::exists(site.home.data().join("jobs/reopening")).unwrap());
}

#[test]
fn undo_keeps_work_begun_by_another_agent() {
    for (agent, status) in [("ben", "in_progress"), ("tester", "pending")] {
        let site = Site::new();
        site.ask("create one");
        let id = site.start("--task 1 --reopen-on-failure", "sleep 600");
        site.ask(&format!("claim 1 --as {agent}"));
        let supervisor = u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
        kill(supervisor);
        wait_until("the supervisor to end", || !is_alive(supervisor));
        let task = site.ask("show 1")["task"].clone();
        assert_eq!(task["status"], status, "{agent}");
        assert_eq!(task["owner"] == Value::Null, agent == "tester", "{agent}");
        assert!(!std::fs::exists(site.home.data().join("jobs/reopening")).unwrap());
    }
}

#[test]
fn lost_jobs_of_every_list_of_the_store_open_their_tasks() {
    let (site, _) = with_a_lost_job();
    std::fs::create_dir_all(site.home.list("another")).unwrap();
    assert_eq!(site.ask("list --list another")["tasks"].as_array().unwrap().len(), 0);
    assert!(!std::fs::exists(site.home.data().join("jobs/reopening")).unwrap());
    assert_eq!(site.ask("show 1")["task"]["status"], "pending");
}

#[test]
fn commands_at_the_same_moment_open_a_task_once() {
    let (site, _) = with_a_lost_job();
    let commands: Vec<_> = (0..6).map(|_| site.home.command("list --json").start()).collect();
    for command in commands {
        assert_eq!(command.wait_with_output().status.code(), Some(0));
    }
    let history = site.ask("history 1");
    let reopenings = history["entries"].as_array().unwrap().iter().filter(|entry| entry["op"] == "reopen").count();
    assert_eq!(reopenings, 1, "{history}");
}
