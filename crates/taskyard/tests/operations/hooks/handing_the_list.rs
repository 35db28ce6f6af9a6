//! Hooks that read the whole list: those that ask for it, and the flat ones of `settings.json`.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, ClientVersion, Rules, Status};
use taskyard::hooks::HookWarning;
use taskyard::operations::{NewTask, Stopped};
use taskyard_testkit::{finishes, wait_until};

use crate::hooks::hook_site::{HookSite, id, new, notices, refused, status};

fn flat(event: &str, command: &str) -> String {
    json!({"hooks": {event: [{"type": "command", "command": command}]}}).to_string()
}

/// Returns what a hook read of each task: its id and its status.
fn told(site: &HookSite, file: &str) -> Vec<(String, String)> {
    let array: Value = serde_json::from_str(&site.written(file)).unwrap();
    let word = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
    array.as_array().unwrap().iter().map(|task| (word(task, "id"), word(task, "status"))).collect()
}

fn statuses(site: &HookSite, file: &str) -> Vec<String> {
    told(site, file).into_iter().map(|(_, status)| status).collect()
}

#[test]
fn flat_hook_reads_the_list_with_the_future_task() {
    let waiting = "cat > list; touch asked; while [ ! -e go ]; do sleep 0.01; done";
    let site = HookSite::new().settings(&flat("TaskCompleted", waiting));
    let yard = site.yard("1 in_progress (ana); 2 pending <- 1; 3 pending <- 2");
    let working = thread::spawn({
        let yard = yard.clone();
        move || yard.done(&id(1))
    });
    wait_until("the hook runs", || site.path("project/asked").exists());
    assert_eq!(statuses(&site, "list"), ["completed", "pending", "blocked"]);
    assert_eq!(status(&yard, 1), Status::InProgress, "nothing is written while a hook is asked");
    fs::write(site.path("project/go"), "").unwrap();
    working.join().unwrap().unwrap().done().unwrap();
    let array: Value = serde_json::from_str(&site.written("list")).unwrap();
    let task = &array[0];
    let keys: Vec<&String> = task.as_object().unwrap().keys().collect();
    let schema = ["id", "subject", "description", "status", "priority", "dependencies", "blockedBy", "metadata"];
    assert_eq!(keys, schema);
    assert_eq!((&task["priority"], &task["metadata"]["subagent_id"]), (&json!("medium"), &json!("ana")));
    assert!(task["metadata"]["updated_at"].as_str() >= task["metadata"]["created_at"].as_str());
}

#[test]
fn nested_hook_reads_event_and_client_rules_know_no_flat_one() {
    let site = HookSite::new().hooks("TaskCompleted", &["cat > event"]);
    site.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
    assert!(site.written("event").contains(r#""hook_event_name":"TaskCompleted","task_id":"1""#));
    let mut site = HookSite::new().settings(&flat("TaskCompleted", "cat > list"));
    site.rules = Rules::Client(ClientVersion::V2_1_34);
    site.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
    assert_eq!(site.written("list"), "");
}

#[test]
fn tasks_completed_together_are_reported_together() {
    let site = HookSite::new().settings(&flat("TaskCompleted", "cat >> lists; cp lists last"));
    let yard = site.yard("1 pending; 2 pending; 3 pending");
    yard.done_together(&[id(1), id(3)]).unwrap().done().unwrap();
    let lines = site.written("lists");
    assert_eq!(lines.lines().count(), 2);
    for line in lines.lines() {
        fs::write(site.path("project/one"), line).unwrap();
        assert_eq!(statuses(&site, "one"), ["completed", "pending", "completed"]);
    }
}

#[test]
fn task_created_completed_is_listed_before_hook_runs() {
    let site = HookSite::new().settings(&flat("TaskCompleted", "cat > list"));
    let yard = site.yard("1 pending");
    yard.create(NewTask { status: Some(Status::Completed), ..new("done before") }).unwrap().done().unwrap();
    let expected = [("1", "pending"), ("2", "completed")].map(|(id, status)| (id.to_owned(), status.to_owned()));
    assert_eq!(told(&site, "list"), expected);
}

#[test]
fn whatever_a_check_forbids_no_hook_hears_of() {
    let config = "[checks]\ntests = \"exit 1\"\n[[hooks.TaskCompleted]]\ncommand = \"cat > list\"\nstdin = \"tasks\"\n";
    let site = HookSite::new().config(config);
    let yard = site.yard("1 pending");
    let checked = new("checked");
    let metadata = json!({"verify": "tests"}).as_object().cloned();
    yard.create(NewTask { metadata, ..checked }).unwrap().done().unwrap();
    let refusal = refused(yard.done_together(&[id(1), id(2)]));
    assert!(matches!(refusal, Refusal::CheckFailed { .. }), "{refusal}");
    assert_eq!(site.written("list"), "");
}

#[test]
fn the_end_of_an_agent_is_told_with_its_tasks_as_they_will_be() {
    let site = HookSite::new().settings(&flat("SubagentStop", "cat > list"));
    let yard = site.yard("1 in_progress (w1); 2 pending <- 1; 3 in_progress (w2)");
    let task = crate::hooks::hook_site::find(&yard, 1);
    let stopped = |tasks_completed| Stopped {
        agent_id: "w1".into(),
        agent_type: "builder".into(),
        stop_hook_active: false,
        tasks_completed,
        result: Value::Null,
        task: task.clone(),
    };
    yard.subagent_stop(&stopped(vec![id(1)])).unwrap();
    assert_eq!(statuses(&site, "list"), ["completed", "pending", "in_progress"]);
    yard.subagent_stop(&stopped(Vec::new())).unwrap();
    assert_eq!(statuses(&site, "list"), ["pending", "blocked", "in_progress"], "it goes back");
}

#[test]
fn list_copy_misses_no_concurrent_completion() {
    let copy = "cat > copy.$$; [ $(($$ % 3)) = 0 ] && sleep 0.02; mv copy.$$ copy";
    let site = HookSite::new().settings(&flat("TaskCompleted", copy));
    let line: Vec<String> = (1..=12).map(|number| format!("{number} pending")).collect();
    let yard = site.yard(&line.join("; "));
    thread::scope(|scope| {
        for agent in 0..3 {
            let yard = yard.acting_as(AgentName::new(format!("agent-{agent}")).unwrap());
            scope.spawn(move || {
                for number in (1..=12).filter(|number| number % 3 == agent) {
                    yard.done(&id(number)).unwrap().done().unwrap();
                }
            });
        }
    });
    assert_eq!(statuses(&site, "copy"), ["completed"; 12]);
    assert_eq!(notices(&yard), []);
}

#[test]
fn endless_hook_delays_work_no_longer_than_its_timeout() {
    let settings = json!({"hooks": {"TaskCompleted": [{"type": "command", "command": "cat > list; touch asked; sleep 600", "timeout": 4}]}});
    let site = HookSite::new().settings(&settings.to_string());
    let yard = site.yard("1 pending; 2 pending; 3 pending");
    let told = finishes(move || {
        thread::scope(|scope| {
            for number in 1..=3 {
                let yard = &yard;
                scope.spawn(move || yard.done(&id(number)).unwrap().done().unwrap());
            }
        });
        notices(&yard)
    });
    assert!(told.iter().any(|notice| matches!(notice, HookWarning::TimedOut { .. })), "{told:?}");
    assert!(told.iter().any(|notice| matches!(notice, HookWarning::OutOfTurn { .. })), "{told:?}");
}
